import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#bench/server-process'
import { until } from '#test/blackbox/until'
import { cleanEnvironment } from '#test/cli/admin-process'

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

/** The time limits for a block, and for its processes to end. */
const blockWithinMs = 90_000
const endedWithinMs = 20_000

/** A shell in a separate process group. It ends when this process ends, because its standard input closes then. */
abstract class Shell {
  protected readonly child: ChildProcess
  /** The output of both streams. */
  output = ''
  isEnded = false

  constructor(script: string, args: readonly string[], folder: string, environment: NodeJS.ProcessEnv) {
    this.child = spawn('bash', ['--noprofile', '--norc', ...(script ? ['-c', script, ...args] : [])], {
      cwd: folder,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
      })
    }
    // The shell may end before it has read all of its input.
    this.child.stdin?.on('error', () => {})
    // The event `close` comes after all processes that could print have ended.
    this.child.once('close', () => {
      this.isEnded = true
    })
  }

  /** Ends all processes of the group: SIGTERM first, then SIGKILL. */
  async end(): Promise<void> {
    this.child.stdin?.end()
    this.signalAll('SIGTERM')
    try {
      await until(() => this.isEnded, 'the shell to end', endedWithinMs)
    } catch {
      this.signalAll('SIGKILL')
      await until(() => this.isEnded, 'the killed shell to end', endedWithinMs)
    }
  }

  private signalAll(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.child.pid ?? 0), signal)
    } catch {
      // The group has ended.
    }
  }
}

/** A shell that runs one block after the other. A failed command ends it. */
class BlockShell extends Shell {
  #blocks = 0

  constructor(folder: string, environment: NodeJS.ProcessEnv) {
    super('', [], folder, environment)
    // Background processes of the blocks end when the shell ends or a command fails.
    this.child.stdin?.write(`trap 'trap - EXIT; kill -TERM 0' EXIT\nexec 2>&1\nset -e -o pipefail\n`)
  }

  /** Runs the file. Returns the start of its text in `output`. Throws with the output if a command fails. */
  async run(file: string): Promise<number> {
    const start = this.output.length
    const mark = `-- block ${++this.#blocks} ends --`
    // The commands of a block must not read the next commands as their input.
    this.child.stdin?.write(`. '${file}' </dev/null; echo; echo '${mark}'\n`)
    await until(
      () => this.output.includes(mark) || this.isEnded,
      () => `the block to end\n${this.output.slice(start)}`,
      blockWithinMs,
    )
    if (!this.output.includes(mark)) throw new Error(`a command failed\n${this.output.slice(start)}`)
    this.output = this.output.replace(`\n${mark}\n`, '')
    return start
  }
}

/** A shell for a server, which runs until `end` is called. */
class ServerShell extends Shell {
  constructor(file: string, folder: string, environment: NodeJS.ProcessEnv) {
    super(`. "$0" </dev/null & read -r _; kill -TERM 0`, [file], folder, environment)
  }

  /** Waits until the server answers at this address. */
  async untilHealthy(url: string): Promise<void> {
    await until(
      async () => {
        if (this.isEnded) throw new Error(`the server ended\n${this.output}`)
        return fetch(url).then(
          ({ ok }) => ok,
          () => false,
        )
      },
      () => `a server at ${url}\n${this.output}`,
      blockWithinMs,
    )
  }
}

/**
 * A block of commands in a document, and its printed output. Hidden comments before a block describe how to run it:
 *
 *     <!-- not run: why -->     tests cannot run this block
 *     <!-- needs: g++ -->       the block is skipped if this program is missing
 *     <!-- runs on -->          the block starts a server, in its own shell, which runs until the next such block
 *     <!-- runs on: words -->   the same, and the test waits until it prints these words
 *     <!-- file: watch.mjs -->  the text of this block, in any language, is written to a file of that name
 *     <!-- from: a/file.py -->  this block is copied from that file of the project
 */
interface ShellBlock {
  readonly kind: 'shell'
  /** The number of the line with the fence, from 1. */
  readonly line: number
  readonly text: string
  readonly notRun: string | undefined
  readonly needs: string | undefined
  /** The output to wait for, which may be empty. It is undefined if the block ends by itself. */
  readonly runsOn: string | undefined
  /** The text of the next block, if it is `text` or `json` and no words are between the blocks. */
  readonly printed: string | undefined
}

interface FileBlock {
  readonly kind: 'file'
  readonly line: number
  readonly name: string
  readonly text: string
}

interface QuoteBlock {
  readonly kind: 'quote'
  readonly line: number
  readonly path: string
  readonly text: string
}

type Block = ShellBlock | FileBlock | QuoteBlock

interface Fenced {
  readonly line: number
  readonly language: string
  readonly text: string
  readonly notes: ReadonlyMap<string, string>
  /** True if there are no words between this block and the one before. */
  readonly isAdjacent: boolean
}

/** The blocks of a document that tests use, in order. */
export function blocksOf(document: string): Block[] {
  const fenced = fencedBlocks(document)
  return fenced.flatMap((block, index): Block[] => {
    const { line, language, text, notes } = block
    const name = notes.get('file')
    if (name !== undefined) return [{ kind: 'file', line, name, text }]
    const path = notes.get('from')
    if (path !== undefined) return [{ kind: 'quote', line, path, text }]
    if (language !== 'sh') return []
    const next = fenced[index + 1]
    const isPrinted = next?.isAdjacent && /^(text|json)$/.test(next.language) && !next.notes.has('file')
    return [
      {
        kind: 'shell',
        line,
        text,
        notRun: notes.get('not run'),
        needs: notes.get('needs'),
        runsOn: notes.get('runs on'),
        printed: isPrinted ? next.text : undefined,
      },
    ]
  })
}

function fencedBlocks(document: string): Fenced[] {
  const blocks: Fenced[] = []
  let notes = new Map<string, string>()
  let isAdjacent = false
  let open: { line: number; language: string; lines: string[]; indent: number } | undefined
  for (const [index, line] of document.split('\n').entries()) {
    const fence = /^( *)```(\w*)$/.exec(line)
    if (open) {
      if (fence?.[2] !== '') {
        open.lines.push(line)
        continue
      }
      const { lines, indent, ...place } = open
      const text = lines.map((each) => each.slice(indent)).join('\n')
      blocks.push({ ...place, text, notes, isAdjacent })
      open = undefined
      notes = new Map()
      isAdjacent = true
      continue
    }
    const note = /^ *<!-- (not run|needs|runs on|file|from)(?:: (.+))? -->$/.exec(line)
    if (fence) open = { line: index + 1, language: fence[2] ?? '', lines: [], indent: (fence[1] ?? '').length }
    else if (note) notes.set(note[1] ?? '', note[2] ?? '')
    else if (line.trim() !== '') {
      notes = new Map()
      isAdjacent = false
    }
  }
  return blocks
}

/**
 * Whether the output contains the printed text of a document. In this text, `…` matches anything within a line, or any
 * lines if it is alone in a line. A time of thirteen digits matches any time.
 */
export function isPrinted(output: string, printed: string): boolean {
  const lines = printed.split('\n').map((line) => {
    if (line.trim() === '…') return '(?:[^\n]*\n)*?'
    const pattern = line
      .trimEnd()
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('…', '.*?')
      .replace(/\b\d{13}\b/g, '\\d{13}')
    return `${pattern}[ \\t\\r]*\n`
  })
  return new RegExp(`^${lines.join('')}`, 'm').test(`${output}\n`)
}
