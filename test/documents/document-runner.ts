import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#test/blackbox/free-port'
import { until } from '#test/blackbox/until'
import { cleanEnvironment } from '#test/cli/admin-process'
import { BlockShell, ServerShell } from '#test/documents/shell'
import { isPrinted, type ShellBlock } from '#test/documents/shell-blocks'

/** The port in documents, which is replaced with a free port. */
const documentedPort = /\b8080\b/g

/** The administrator's password of a server that the runner starts. */
const administratorPassword = 'correct horse battery'

/** Parts of the project that are only read are linked. Others are copied. */
const linked = ['package.json', 'src', 'dist', 'node_modules']
const copied = ['examples', 'ops', 'docs']

/** Messages of a shell about ended background commands. */
const jobMessages = /^.*: line \d+: +\d+ (?:Terminated|Killed|Exit \d+) .*\n/gm

/** Read-only commands are repeated until they print the documented output. */
const repeatEveryMs = 200
const repeatsMax = 150
const readOnlyCommand = /^curl -s '[^'\n]+'\n$/

/** The limit is generous, because `npm run demo` creates its content before it prints figures. */
const printedWithinMs = 60_000

/** Runs the blocks of a document in a folder like that of the project. At most one server runs at a time. */
export class DocumentRunner {
  readonly folder: string
  readonly #port: number
  readonly #environment: NodeJS.ProcessEnv
  readonly #shell: BlockShell
  #server: ServerShell | undefined
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
    this.#shell = new BlockShell(this.project, this.#environment)
  }

  static async create(): Promise<DocumentRunner> {
    const folder = mkdtempSync(join(tmpdir(), 'documents-'))
    const project = join(folder, 'project')
    mkdirSync(project)
    const present = readdirSync(projectRoot)
    for (const name of linked) symlinkSync(join(projectRoot, name), join(project, name))
    for (const name of copied.filter((each) => present.includes(each))) {
      cpSync(join(projectRoot, name), join(project, name), { recursive: true })
    }
    return new DocumentRunner(folder, await freePort())
  }

  get project(): string {
    return join(this.folder, 'project')
  }

  writeFile(name: string, text: string): void {
    writeFileSync(join(this.project, name), `${this.#localized(text)}\n`)
  }

  /** Starts a server for a document that does not start one. */
  async startServer(): Promise<void> {
    const file = join(this.folder, 'server.sh')
    writeFileSync(file, `ADMIN_NAME=admin ADMIN_PASSWORD='${administratorPassword}' npm start\n`)
    await this.#serve(file, undefined, '')
  }

  /** Returns false if a required program is missing. Throws with the output if the block fails. */
  async run(block: ShellBlock): Promise<boolean> {
    if (block.needs && !process.env.CI && spawnSync(block.needs, ['--version']).status !== 0) return false
    const file = join(this.folder, `block-${++this.#blocks}.sh`)
    writeFileSync(file, `${this.#localized(block.text)}\n`)
    if (block.runsOn !== undefined) await this.#serve(file, block.printed, block.runsOn)
    else await this.#type(file, block.printed)
    return true
  }

  async #serve(file: string, printed: string | undefined, words: string): Promise<void> {
    await this.#server?.end()
    const server = new ServerShell(file, this.project, this.#environment)
    this.#server = server
    await server.untilHealthy(`http://127.0.0.1:${this.#port}/api/v1/health`)
    await until(
      () => server.output.includes(words),
      () => `"${words}" to be printed, which was\n${server.output}`,
      printedWithinMs,
    )
    await this.#untilPrinted(printed, () => server.output)
  }

  async #type(file: string, printed: string | undefined): Promise<void> {
    const start = await this.#shell.run(file)
    const output = () => this.#shell.output.slice(start).replace(jobMessages, '')
    const hasPrinted = () => printed === undefined || isPrinted(output(), this.#localized(printed))
    for (
      let times = 0;
      readOnlyCommand.test(readFileSync(file, 'utf8')) && !hasPrinted() && times < repeatsMax;
      times++
    ) {
      await new Promise((resolve) => setTimeout(resolve, repeatEveryMs))
      await this.#shell.run(file)
    }
    await this.#untilPrinted(printed, output)
    const refused = /\{"(?:error|message)":.*/.exec(output())?.[0]
    if (refused && !printed?.includes('{"error"')) throw new Error(`refused: ${refused}`)
  }

  async #untilPrinted(printed: string | undefined, output: () => string): Promise<void> {
    if (printed === undefined) return
    await until(
      () => isPrinted(output(), this.#localized(printed)),
      () => `\n${this.#localized(printed)}\nto be printed, which was\n${output()}`,
      printedWithinMs,
    )
  }

  /** Replaces the port and the password of the document. */
  #localized(text: string): string {
    const password = /which is shown only now:\n {2}(\S+)/.exec(this.#server?.output ?? '')?.[1]
    return text.replace(documentedPort, String(this.#port)).replaceAll('<password>', password ?? administratorPassword)
  }

  async close(): Promise<void> {
    await this.#shell.end()
    await this.#server?.end()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
