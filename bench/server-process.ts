import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { killAtExit } from '#bench/exit-cleanup'
import { request } from '#bench/http'
import { projectRoot } from '#bench/project-root'
import { sleep } from '#bench/time'

export interface ServerSettings {
  readonly port: number
  readonly dataFolder: string
  readonly environment?: Readonly<Record<string, string>>
  /** Node arguments before the program, for example to preload a probe. */
  readonly nodeArguments?: readonly string[]
  /** A command to put before Node, which observes Node and leaves it our child process. */
  readonly inFront?: readonly string[]
  /** For a server without valuable data. Any other server ends when the channel closes, with time for a clean stop. */
  readonly isKilledAtExit?: boolean
}

/** The usual time limit for starting, including replay of a full log. */
const startMsMax = 60_000
/** Longer than the server's own grace for open requests (contract 8). */
const stopMsMax = 20_000
const answerMsMax = 30_000
const linesKeptMax = 40

/**
 * Loaded into the child before the server: when the channel to this process breaks for any reason, the child ends
 * itself. The channel does not keep the child alive.
 */
const tether = `data:text/javascript,${encodeURIComponent(
  "process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')); process.channel?.unref()",
)}`

/**
 * The server as a child process. A server with valuable data has its own process group, so that Ctrl-C reaches it only
 * through this process. A server that is killed at exit stays in our session, like loads: Linux may give each session
 * an equal share of the processors (sched_autogroup), and then even threads of low priority delay other sessions.
 */
export class ServerProcess {
  readonly url: string
  readonly #child: ChildProcess
  /** Resolves with the exit code or the signal. */
  readonly ended: Promise<number | NodeJS.Signals>
  isEnded = false
  /** The last lines of its output. */
  readonly lines: string[] = []

  constructor(settings: ServerSettings) {
    const program = join(projectRoot, 'dist/src/app/main.js')
    if (!existsSync(program)) throw new Error(`${program} does not exist: run npm run build`)
    this.url = `http://127.0.0.1:${settings.port}`
    const nodeArguments = ['--enable-source-maps', '--import', tether, ...(settings.nodeArguments ?? [])]
    const [command = '', ...rest] = [...(settings.inFront ?? []), process.execPath, ...nodeArguments, program]
    this.#child = spawn(command, rest, {
      cwd: projectRoot,
      detached: !settings.isKilledAtExit,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        ...process.env,
        // The values of the container image.
        UV_THREADPOOL_SIZE: '8',
        UWS_HTTP_MAX_HEADERS_SIZE: '16384',
        MALLOC_ARENA_MAX: '2',
        HOST: '127.0.0.1',
        PORT: String(settings.port),
        DATA_DIR: settings.dataFolder,
        // The server's default is `on`; callers that need authentication set it.
        IAM: 'off',
        LOG_LEVEL: 'warn',
        ...settings.environment,
      },
    })
    if (settings.isKilledAtExit) killAtExit(this.#child)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8')
      stream?.on('data', (text: string) => this.#note(text))
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.isEnded = true
        this.#note(String(error))
        resolve(-1)
      })
      this.#child.once('exit', (code, signal) => {
        this.isEnded = true
        resolve(code ?? signal ?? -1)
      })
    })
  }

  get processId(): number {
    return this.#child.pid ?? 0
  }

  /** Sends a message to a preloaded module and resolves with its answer. Only one message may be unanswered. */
  async ask<Answer>(message: object): Promise<Answer> {
    const answered = once(this.#child, 'message', { signal: AbortSignal.timeout(answerMsMax) })
    this.#child.send(message)
    const [answer] = await answered
    return answer as Answer
  }

  /** Resolves when the server answers; throws with its last output when it exits or takes too long. */
  async serving(msMax = startMsMax): Promise<void> {
    const end = performance.now() + msMax
    while (!this.isEnded && performance.now() < end) {
      const answer = await request(`${this.url}/api/v1/health`, { silenceMsMax: 2_000 }).catch(() => undefined)
      if (answer?.status === 200) return
      await sleep(15)
    }
    const what = this.isEnded ? `ended (${await this.ended})` : `did not answer within ${msMax / 1000} s`
    throw new Error(`the server ${what}\n${this.lines.join('\n')}`)
  }

  /** SIGKILL: no clean stop. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  /** SIGTERM; resolves with the exit code, or with the signal when it had to be killed. */
  async stop(): Promise<number | NodeJS.Signals> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopMsMax)
    const result = await this.ended
    clearTimeout(timer)
    return result
  }

  #note(text: string): void {
    for (const line of text.split('\n')) if (line.trim() !== '') this.lines.push(line.slice(0, 1_000))
    this.lines.splice(0, this.lines.length - linesKeptMax)
  }
}

export async function startServer(settings: ServerSettings): Promise<ServerProcess> {
  const server = new ServerProcess(settings)
  try {
    await server.serving()
  } catch (error) {
    await server.kill()
    throw error
  }
  return server
}

/**
 * A port that was free a moment ago, outside of the range of outgoing connections. In that range, a client that
 * reconnects while the server is down could get the server's port, connect to itself and keep the server from starting.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (!(await isPortTaken(port))) return port
  }
  throw new Error('found no free port')
}

/** Whether a server listens on this port. */
export async function isPortTaken(port: number): Promise<boolean> {
  const probe = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => resolve(true))
  })
  if (isFree) await new Promise((resolve) => probe.close(resolve))
  return !isFree
}
