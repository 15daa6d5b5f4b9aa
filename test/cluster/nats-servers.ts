import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#test/blackbox/free-port'
import { until } from '#test/blackbox/until'

const program = process.env.NATS_SERVER ?? 'nats-server'

/** Why tests with NATS are skipped; undefined if they are not. With NATS_SERVER set, nothing is skipped. */
export const noNats = reasonOfSkip()

function reasonOfSkip(): string | undefined {
  if (process.env.NATS_SERVER) return undefined
  const { stdout = '', error } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, major = '0', minor = '0'] = /v?(\d+)\.(\d+)/.exec(stdout) ?? []
  if (!error && (Number(major) > 2 || Number(minor) >= 11)) return undefined
  return 'Skipped, no cluster was tested: set NATS_SERVER to a nats-server of version 2.11 or later'
}

/** One NATS server with JetStream, which keeps its port and its data when it is restarted. */
export class NatsServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'nats-'))
  readonly #port: number
  #child: ChildProcess | undefined

  private constructor(port: number) {
    this.#port = port
  }

  /** `configuration`: in the format of its configuration file, in addition to the port and folder. */
  static async start(configuration = ''): Promise<NatsServer> {
    const server = new NatsServer(await freePort())
    writeFileSync(join(server.#folder, 'nats.conf'), configuration)
    await server.startAgain()
    return server
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`
  }

  async startAgain(): Promise<void> {
    const file = join(this.#folder, 'nats.conf')
    const child = spawn(program, ['-c', file, '-js', '-sd', this.#folder, '-a', '127.0.0.1', '-p', `${this.#port}`])
    this.#child = child
    let output = ''
    child.stderr.on('data', (text) => {
      output += text
    })
    await until(
      () => output.includes('Server is ready'),
      () => `NATS to be ready\n${output}`,
    )
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null) return
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
