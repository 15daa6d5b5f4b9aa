import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#test/blackbox/free-port'
import { until } from '#test/blackbox/until'
import { cleanEnvironment } from '#test/cli/admin-process'
import { isPrinted, type ShellBlock } from '#test/documents/document'
import { Serving, Terminal } from '#test/documents/typed'

/** The port that documents name: it is another one here. */
const namedPort = /\b8080\b/g

/** Of the administrator of a server that is there already. */
const foundPassword = 'correct horse battery'

/** What of the project a reader uses from its folder. What he might write into is his own. */
const linked = ['package.json', 'src', 'dist', 'node_modules']
const copied = ['examples', 'ops', 'docs']

/** What a shell without a person in front of it says of a command in the background that was ended. */
const ofShell = /^.*: line \d+: +\d+ (?:Terminated|Killed|Exit \d+) .*\n/gm

/** Commands that only look: who finds too little a moment after he began something types them again. */
const lookingEveryMs = 200
const lookingTimes = 150
const looking = /^curl -s '[^'\n]+'\n$/

/** What is printed behind a command, or by what runs behind one, may take so long. */
const printedWithinMs = 15_000

/**
 * Somebody who does what a document says, in a folder that looks to him like that of the project, and writes into no other:
 * links lead to what he only reads. One server at a time, at the port that his environment names.
 */
export class Reader {
  readonly folder: string
  readonly #port: number
  readonly #environment: NodeJS.ProcessEnv
  readonly #terminal: Terminal
  #serving: Serving | undefined
  #blocks = 0

  private constructor(folder: string, port: number) {
    this.folder = folder
    this.#port = port
    const home = join(folder, 'home')
    mkdirSync(home)
    this.#environment = {
      ...cleanEnvironment(),
      HOME: home,
      TMPDIR: home,
      PORT: String(port),
      STORAGE_HEADROOM_MB: '0',
      npm_config_update_notifier: 'false',
      npm_config_fund: 'false',
      NO_COLOR: '1',
    }
    this.#terminal = new Terminal(this.workplace, this.#environment)
  }

  static async arrive(): Promise<Reader> {
    const folder = mkdtempSync(join(tmpdir(), 'documents-'))
    const workplace = join(folder, 'project')
    mkdirSync(workplace)
    const present = readdirSync(projectRoot)
    for (const name of linked) symlinkSync(join(projectRoot, name), join(workplace, name))
    for (const name of copied.filter((each) => present.includes(each))) {
      cpSync(join(projectRoot, name), join(workplace, name), { recursive: true })
    }
    return new Reader(folder, await freePort())
  }

  get workplace(): string {
    return join(this.folder, 'project')
  }

  writeFile(name: string, text: string): void {
    writeFileSync(join(this.workplace, name), `${this.#asHere(text)}\n`)
  }

  /** For a document that begins with a server which is there. */
  async findServer(): Promise<void> {
    const file = join(this.folder, 'server.sh')
    writeFileSync(file, `ADMIN_NAME=admin ADMIN_PASSWORD='${foundPassword}' npm start\n`)
    await this.#serve(file, undefined, '')
  }

  /** @throws Error what went wrong, and what was printed. Answers false when a program is missing that is needed. */
  async run(block: ShellBlock): Promise<boolean> {
    if (block.needs && !process.env.CI && spawnSync(block.needs, ['--version']).status !== 0) return false
    const file = join(this.folder, `block-${++this.#blocks}.sh`)
    writeFileSync(file, `${this.#asHere(block.text)}\n`)
    if (block.runsOn !== undefined) await this.#serve(file, block.printed, block.runsOn)
    else await this.#type(file, block.printed)
    return true
  }

  async #serve(file: string, printed: string | undefined, words: string): Promise<void> {
    await this.#serving?.end()
    const serving = new Serving(file, this.workplace, this.#environment)
    this.#serving = serving
    await serving.serves(`http://127.0.0.1:${this.#port}/api/v1/health`)
    await until(
      () => serving.output.includes(words),
      () => `"${words}" to be printed, which was\n${serving.output}`,
      printedWithinMs,
    )
    await this.#comes(printed, () => serving.output)
  }

  async #type(file: string, printed: string | undefined): Promise<void> {
    const start = await this.#terminal.run(file)
    const output = () => this.#terminal.output.slice(start).replace(ofShell, '')
    const isThere = () => printed === undefined || isPrinted(output(), this.#asHere(printed))
    for (let times = 0; looking.test(readFileSync(file, 'utf8')) && !isThere() && times < lookingTimes; times++) {
      await new Promise((resolve) => setTimeout(resolve, lookingEveryMs))
      await this.#terminal.run(file)
    }
    await this.#comes(printed, output)
    const refused = /\{"(?:error|message)":.*/.exec(output())?.[0]
    if (refused && !printed?.includes('{"error"')) throw new Error(`it was refused: ${refused}`)
  }

  async #comes(printed: string | undefined, output: () => string): Promise<void> {
    if (printed === undefined) return
    await until(
      () => isPrinted(output(), this.#asHere(printed)),
      () => `\n${this.#asHere(printed)}\nto be printed, which was\n${output()}`,
      printedWithinMs,
    )
  }

  /** With the port of here, and what the server printed where the reader is to put it in. */
  #asHere(text: string): string {
    const password = /which is shown only now:\n {2}(\S+)/.exec(this.#serving?.output ?? '')?.[1]
    return text.replace(namedPort, String(this.#port)).replaceAll('<password>', password ?? foundPassword)
  }

  async leave(): Promise<void> {
    await this.#terminal.end()
    await this.#serving?.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
