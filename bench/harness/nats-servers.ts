import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killAtExit } from '#bench/exit-cleanup'
import { freePort } from '#bench/server-process'

const program = process.env.NATS_SERVER ?? 'nats-server'
const startMsMax = 20_000

/** The reason to skip tests with NATS; undefined: run them. With NATS_SERVER set, nothing is skipped. */
export const noNats = reasonOfSkip()

function reasonOfSkip(): string | undefined {
  if (process.env.NATS_SERVER) return undefined
  const { stdout = '', error } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, major = '0', minor = '0'] = /v?(\d+)\.(\d+)/.exec(stdout) ?? []
  if (!error && (Number(major) > 2 || Number(minor) >= 11)) return undefined
  return 'Skipped, no cluster was tested: set NATS_SERVER to a nats-server of version 2.11 or later'
}

/** One NATS server with JetStream, which keeps its ports and its data when it is restarted. */
export class NatsServer {
  readonly name: string
  readonly port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'nats-'))
  readonly #arguments: readonly string[]
  #child: ChildProcess | undefined

  private constructor(name: string, port: number, configuration: string, more: readonly string[]) {
    this.name = name
    this.port = port
    const file = join(this.#folder, 'nats.conf')
    writeFileSync(file, configuration)
    this.#arguments = ['-c', file, '-js', '-sd', this.#folder, '-a', '127.0.0.1', '-p', `${port}`, ...more]
  }

  /** `configuration`: in the format of its configuration file, in addition to the port and folder. */
  static async start(configuration = ''): Promise<NatsServer> {
    const server = new NatsServer('nats', await freePort(), configuration, [])
    await server.startAgain()
    return server
  }

  /** Starts the servers of one NATS cluster. */
  static async startCluster(size: number): Promise<readonly NatsServer[]> {
    const ports = await Promise.all(Array.from({ length: 2 * size }, () => freePort()))
    const routes = ports.slice(0, size).map((port) => `nats://127.0.0.1:${port}`)
    const servers = routes.map((route, place) => {
      const more = ['--cluster', route, '--cluster_name', 'proof', '--routes', routes.join(',')]
      const name = `nats-${place}`
      return new NatsServer(name, ports[size + place] as number, '', ['-n', name, ...more])
    })
    await Promise.all(servers.map((server) => server.startAgain()))
    return servers
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  async startAgain(): Promise<void> {
    const child = spawn(program, this.#arguments)
    this.#child = child
    killAtExit(child)
    let output = ''
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new Error(`${program} did not start\n${output}`))
      const timer = setTimeout(fail, startMsMax)
      child.once('error', reject)
      child.once('exit', fail)
      child.stderr.on('data', (text) => {
        output = output.length < 10_000 ? `${output}${text}` : output
        if (!output.includes('Server is ready')) return
        clearTimeout(timer)
        child.removeListener('exit', fail)
        resolve()
      })
    })
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    await new Promise((ended) => {
      child.once('exit', ended)
      child.kill('SIGKILL')
    })
  }

  async discard(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
