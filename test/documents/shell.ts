import { type ChildProcess, spawn } from 'node:child_process'
import { until } from '#test/blackbox/until'

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
export class BlockShell extends Shell {
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
export class ServerShell extends Shell {
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
