import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect } from 'vitest'
import type { RunningServer } from '#app/running-server'
import { projectRoot } from '#bench/project-root'
import { until } from '#test/blackbox/until'

/** The built server. `SERVER_MAIN` names another build. */
const program = process.env.SERVER_MAIN ?? join(projectRoot, 'dist/src/app/main.js')

/** A script that is loaded before the server. It kills the server when the channel to the test process closes. */
const tether = `data:text/javascript,${encodeURIComponent(
  "process.once('disconnect', () => process.kill(process.pid, 'SIGKILL')); process.channel?.unref()",
)}`

export type Environment = Readonly<Record<string, string>>

const defaults: Environment = {
  HOST: '127.0.0.1',
  PORT: '0',
  MQTT_PORT: 'off',
  IAM: 'off',
  HISTORY: 'off',
  LOG_LEVEL: 'info',
  STORAGE_HEADROOM_MB: '0',
}

export type Ending = number | NodeJS.Signals

export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly port?: number
  readonly plain?: number
  readonly tls?: number
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body. Throws if it is not JSON. */
  readonly json: unknown
}

export interface Ask {
  readonly method?: string
  /** The body, which is sent as JSON unless it is a string. */
  readonly body?: unknown
  readonly headers?: Environment
}

/** Sends a request to a path below the base path. */
export async function askAt(base: string, path: string, { method = 'GET', body, headers = {} }: Ask): Promise<Answer> {
  const hasBody = body !== undefined
  const response = await fetch(base + path, {
    method,
    headers: { ...(hasBody && { 'content-type': 'application/json' }), ...headers },
    ...(hasBody && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text) as unknown
    },
  }
}

/** The part of a server that clients use. */
export type Served = Pick<StartedServer, 'base' | 'ws' | 'get' | 'ask'>

/** One process of the server, on a free port. */
export class ServerRun {
  readonly #child: ChildProcess
  readonly ended: Promise<Ending>
  /** Standard output and standard error. */
  output = ''
  /** Standard error alone. */
  errors = ''
  isEnded = false

  constructor(environment: Environment, args: readonly string[] = []) {
    if (!existsSync(program)) throw new Error(`${program} is missing: npm run build`)
    const { NODE_OPTIONS: _, ...inherited } = process.env
    // Source maps would make each start slower by a fifth.
    this.#child = spawn(process.execPath, ['--import', tether, program, ...args], {
      // This folder has no `.env`.
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: {
        ...inherited,
        UV_THREADPOOL_SIZE: '8',
        UWS_HTTP_MAX_HEADERS_SIZE: '16384',
        ...defaults,
        ...environment,
      },
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8')
      stream?.on('data', (text: string) => {
        this.output += text
        if (stream === this.#child.stderr) this.errors += text
      })
    }
    this.ended = new Promise((resolve) => {
      // All output has been read at `close`, but not at `exit`.
      this.#child.once('close', (code, signal) => {
        this.isEnded = true
        resolve(code ?? signal ?? -1)
      })
    })
  }

  get lines(): LogLine[] {
    return linesIn(this.output)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

function linesIn(output: string): LogLine[] {
  return output.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as LogLine] : []
    } catch {
      // The last line may be incomplete.
      return []
    }
  })
}

/** A running server that can be restarted on the same data. */
export class StartedServer {
  readonly dataFolder: string
  readonly #isFolderTemporary: boolean
  #environment: Environment
  #run: ServerRun | undefined
  #running: RunningServer | undefined
  #log = ''
  #port = 0

  private constructor(environment: Environment, dataFolder: string | undefined) {
    this.#environment = environment
    this.#isFolderTemporary = dataFolder === undefined
    this.dataFolder = dataFolder ?? mkdtempSync(join(tmpdir(), 'blackbox-'))
  }

  static async start(environment: Environment = {}, dataFolder?: string): Promise<StartedServer> {
    const server = new StartedServer(environment, dataFolder)
    await server.startAgain()
    return server
  }

  /** Starts the server in this process, where it cannot be killed or restarted. */
  static async here(environment: Environment = {}): Promise<StartedServer> {
    const [{ serve }, { readConfig }, { createLog }] = await Promise.all([
      import('#app/running-server'),
      import('#app/config'),
      import('#app/log'),
    ])
    const server = new StartedServer(environment, undefined)
    const reading = readConfig({ ...defaults, DATA_DIR: server.dataFolder, ...environment })
    if ('mistakes' in reading) throw new Error(reading.mistakes.join('\n'))
    const stream = new Writable({
      write(chunk, _, written) {
        server.#log += String(chunk)
        written()
      },
    })
    server.#running = await serve(reading.config, createLog({ level: 'info', isPretty: false, stream }))
    server.#port = server.#running.port
    return server
  }

  /** Starts or restarts, by default on another port, so that late connections to the old process fail. */
  async startAgain(environment: Environment = {}): Promise<void> {
    this.#environment = { ...this.#environment, ...environment }
    const run = new ServerRun({ DATA_DIR: this.dataFolder, ...this.#environment })
    this.#run = run
    this.#port = await until(
      () => {
        if (run.isEnded) throw new Error(`the server ended at its start\n${run.output}`)
        return run.lines.find(({ port }) => port !== undefined)?.port
      },
      () => `the server to serve\n${run.output}`,
      60_000,
    )
    expect(await this.get('/health')).toMatchObject({ status: 200, text: '{"status":"ok"}' })
  }

  get run(): ServerRun {
    if (!this.#run) throw new Error('the server was not started')
    return this.#run
  }

  get port(): number {
    return this.#port
  }

  /** `http://127.0.0.1:port/api/v1` */
  get base(): string {
    return `http://127.0.0.1:${this.port}/api/v1`
  }

  get ws(): string {
    return `ws://127.0.0.1:${this.port}/api/v1`
  }

  /** `path` is below `/api/v1`. */
  get(path: string, headers: Environment = {}): Promise<Answer> {
    return this.ask(path, { headers })
  }

  ask(path: string, ask: Ask = {}): Promise<Answer> {
    return askAt(this.base, path, ask)
  }

  /** Sends SIGTERM. */
  async stop(): Promise<Ending> {
    this.run.signal('SIGTERM')
    return this.run.ended
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    this.run.signal('SIGKILL')
    await this.run.ended
  }

  /** The open ports for MQTT. */
  get mqttPorts(): { readonly plain?: number; readonly tls?: number } {
    return this.lines.find(({ msg }) => msg === 'MQTT is open') ?? {}
  }

  get lines(): LogLine[] {
    return this.#running ? linesIn(this.#log) : this.run.lines
  }

  /** The logged lines of level `error` or `fatal`. */
  get complaints(): LogLine[] {
    return this.lines.filter(({ level }) => level === 'error' || level === 'fatal')
  }

  /** Stops the server at the end of a test file, and expects that it has logged no errors. */
  async finish(): Promise<void> {
    try {
      if (this.#running) {
        await this.#running.stop()
        expect(this.complaints).toEqual([])
      } else if (!this.run.isEnded) {
        const ending = await this.stop()
        expect({ ending, complaints: this.complaints }).toEqual({ ending: 0, complaints: [] })
      }
    } finally {
      await this.discard()
    }
  }

  /** Kills the server if it runs, and deletes a temporary data folder. */
  async discard(): Promise<void> {
    if (this.#run && !this.#run.isEnded) await this.kill()
    if (this.#isFolderTemporary) rmSync(this.dataFolder, { recursive: true, force: true })
  }
}
