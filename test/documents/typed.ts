import { type ChildProcess, spawn } from 'node:child_process'
import { until } from '#test/blackbox/until'

/** How long one block may take, and how long what it started may take to end. */
const patienceMs = 90_000
const endedWithinMs = 20_000

/** Processes that somebody typed into a terminal: a group of their own, which ends with us, however we end. */
abstract class Typed {
  protected readonly child: ChildProcess
  /** All that it printed, on both streams. */
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
    // It may be gone before it has read all.
    this.child.stdin?.on('error', () => {})
    // `close`: everybody who could print is gone.
    this.child.once('close', () => {
      this.isEnded = true
    })
  }

  /** Everything it started ends too: asked first, then made to. */
  async end(): Promise<void> {
    this.child.stdin?.end()
    this.signalAll('SIGTERM')
    try {
      await until(() => this.isEnded, 'what was typed to end', endedWithinMs)
    } catch {
      this.signalAll('SIGKILL')
      await until(() => this.isEnded, 'what was typed to end when killed', endedWithinMs)
    }
  }

  private signalAll(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.child.pid ?? 0), signal)
    } catch {
      // Nobody of the group is left.
    }
  }
}

/** A terminal into which one block after the other is typed. A command that fails ends it. */
export class Terminal extends Typed {
  #blocks = 0

  constructor(folder: string, environment: NodeJS.ProcessEnv) {
    super('', [], folder, environment)
    // At the end of what we type, or when a command fails: everything goes that a block left in the background.
    this.child.stdin?.write(`trap 'trap - EXIT; kill -TERM 0' EXIT\nexec 2>&1\nset -e -o pipefail\n`)
  }

  /**
   * Runs the file; answers from where on in `output` it printed.
   * @throws Error what was printed, when a command failed
   */
  async run(file: string): Promise<number> {
    const start = this.output.length
    const mark = `-- block ${++this.#blocks} ends --`
    // Nothing in a block may read what is typed behind it.
    this.child.stdin?.write(`. '${file}' </dev/null; echo; echo '${mark}'\n`)
    await until(
      () => this.output.includes(mark) || this.isEnded,
      () => `the block to end\n${this.output.slice(start)}`,
      patienceMs,
    )
    if (!this.output.includes(mark)) throw new Error(`a command failed\n${this.output.slice(start)}`)
    this.output = this.output.replace(`\n${mark}\n`, '')
    return start
  }
}

/** A terminal of its own for what serves until somebody ends it. */
export class Serving extends Typed {
  constructor(file: string, folder: string, environment: NodeJS.ProcessEnv) {
    super(`. "$0" </dev/null & read -r _; kill -TERM 0`, [file], folder, environment)
  }

  /** It answers at this address. */
  async serves(url: string): Promise<void> {
    await until(
      async () => {
        if (this.isEnded) throw new Error(`it ended\n${this.output}`)
        return fetch(url).then(
          ({ ok }) => ok,
          () => false,
        )
      },
      () => `somebody to serve ${url}\n${this.output}`,
      patienceMs,
    )
  }
}
