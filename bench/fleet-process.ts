import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FleetReport } from '#bench/fleet/counts'
import type { FleetSecond } from '#bench/fleet/second'
import { projectRoot } from '#bench/project-root'

export type FleetFinal = FleetReport & { readonly seconds: number }

/** The fleet in a process of its own, so that its work and the server's do not share a thread. */
export class FleetProcess {
  readonly #child: ChildProcess
  readonly #ended: Promise<number | NodeJS.Signals>
  #errors = ''
  #isEnded = false
  #final: FleetFinal | undefined

  constructor(args: readonly string[], onSecond: (second: FleetSecond) => void) {
    this.#child = spawn(process.execPath, [join(projectRoot, 'dist/bench/fleet.js'), ...args, '--json'], {
      cwd: projectRoot,
      detached: true,
      // The channel is what tells it that we are gone.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const { stdout, stderr } = this.#child
    if (stdout) {
      createInterface({ input: stdout }).on('line', (line) => {
        const said = JSON.parse(line) as FleetSecond | (FleetFinal & { isFinal: true })
        if ('isFinal' in said) this.#final = said
        else onSecond(said)
      })
    }
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-2_000)
    })
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        this.#isEnded = true
        resolve(code ?? signal ?? -1)
      })
      this.#child.once('error', (error) => {
        this.#errors = String(error)
      })
    })
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get ended(): Promise<number | NodeJS.Signals> {
    return this.#ended
  }

  get errors(): string {
    return this.#errors
  }

  /** Its totals, once it ended. */
  get final(): FleetFinal | undefined {
    return this.#final
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 8_000)
    await this.#ended
    clearTimeout(timer)
  }
}
