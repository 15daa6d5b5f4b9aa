import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { projectRoot } from '#bench/project-root'
import type { StartedServer } from '#test/blackbox/started-server'

export const adminProgram = join(projectRoot, 'dist/src/cli/main.js')

/** It hung; whatever it said by then is shown. */
const patienceMs = 60_000

export interface Ran {
  readonly code: number | null
  /** Standard output. */
  readonly out: string
  /** Standard error. */
  readonly notes: string
}

export interface Run {
  /** Typed behind `--`. */
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Comes in on standard input, which is no terminal in either case. */
  readonly input?: string | Uint8Array
  /** JavaScript that runs before anything else. */
  readonly before?: string
  /** As soon as it runs: for who wants to kill it, or to have its standard output as bytes. */
  readonly begun?: (child: ChildProcess) => void
}

/** The built command line as a process of its own, from its start to its end. */
export function runAdmin({ args, environment = {}, input, before, begun }: Run): Promise<Ran> {
  if (!existsSync(adminProgram)) throw new Error(`${adminProgram} is not there: npm run build`)
  const preload = before === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(before)}`]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...preload, adminProgram, ...args], {
      // Away from any `.env`.
      cwd: tmpdir(),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { ...cleanEnvironment(), ...environment },
      timeout: patienceMs,
      killSignal: 'SIGKILL',
    })
    const said = { out: '', notes: '' }
    begun?.(child)
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said.out += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said.notes += text
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
    child.stdin?.end(input)
  })
}

/** Of whoever runs the tests, without what would tell the command where to go, and as whom. */
export function cleanEnvironment(): Record<string, string | undefined> {
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const ours = /^(ADMIN_|PORT$|HOST$|DATA_DIR$|IAM$|PUBLIC_URL$)/
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !ours.test(name)))
}

/** What leads to a server, running or not, and nobody to sign in as. */
export function environmentOf(server: StartedServer): Record<string, string> {
  return { HOST: '127.0.0.1', PORT: String(server.port), DATA_DIR: server.dataFolder, STORAGE_HEADROOM_MB: '0' }
}

/** It was done; answers standard output. */
export function done({ code, out, notes }: Ran): string {
  expect({ code, notes: code === 0 ? '' : notes }).toEqual({ code: 0, notes: '' })
  return out
}

/** It was not, and standard output is empty; answers what was said. */
export function failed({ code, out, notes }: Ran, wanted: 1 | 2): string {
  expect({ code, out, notes }).toEqual({ code: wanted, out: '', notes: expect.any(String) })
  return notes
}
