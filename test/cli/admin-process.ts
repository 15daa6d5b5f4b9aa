import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { projectRoot } from '#bench/project-root'
import type { StartedServer } from '#test/blackbox/started-server'

const programs = join(projectRoot, 'dist/src/cli')
export const adminProgram = join(programs, 'main.js')
export const doctorProgram = join(programs, 'doctor/main.js')

/** A command that takes longer is killed. */
const timeoutMs = 60_000

export interface AdminResult {
  readonly code: number | null
  /** Standard output. */
  readonly out: string
  /** Standard error. */
  readonly notes: string
}

export interface AdminCommand {
  /** The arguments after `--`. */
  readonly args: readonly string[]
  /** Default: `adminProgram`. */
  readonly program?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Standard input, which is never a terminal. */
  readonly input?: string | Uint8Array
  /** JavaScript that the process runs before the command. */
  readonly before?: string
  /** Called with the new process. */
  readonly started?: (child: ChildProcess) => void
}

/** Runs the built command in its own process. */
export function runAdmin(command: AdminCommand): Promise<AdminResult> {
  const { args, program = adminProgram, environment = {}, input, before, started } = command
  if (!existsSync(program)) throw new Error(`${program} is missing: npm run build`)
  const preload = before === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(before)}`]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...preload, program, ...args], {
      // This folder has no `.env`.
      cwd: tmpdir(),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { ...cleanEnvironment(), ...environment },
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    const output = { out: '', notes: '' }
    started?.(child)
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output.out += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output.notes += text
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...output }))
    child.stdin?.end(input)
  })
}

/** The environment of the tests, without settings of servers and users. */
export function cleanEnvironment(): Record<string, string | undefined> {
  const { NODE_OPTIONS: _, ...inherited } = process.env
  const ours = /^(ADMIN_|PORT$|HOST$|DATA_DIR$|IAM$|PUBLIC_URL$)/
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !ours.test(name)))
}

/** The settings for commands to find a server, whether it runs or not. They name no user. */
export function environmentOf({ dataFolder, port }: StartedServer): Record<string, string> {
  return environmentOn(dataFolder, port)
}

/** The settings of a server that does not run, with this data folder. */
export function environmentOn(folder: string, port = 0): Record<string, string> {
  return { HOST: '127.0.0.1', PORT: String(port), DATA_DIR: folder, STORAGE_HEADROOM_MB: '0' }
}

/** Expects success, and returns standard output. */
export function outputOf({ code, out, notes }: AdminResult): string {
  expect({ code, notes: code === 0 ? '' : notes }).toEqual({ code: 0, notes: '' })
  return out
}

/** Expects this exit code and no standard output, and returns standard error. */
export function errorOf({ code, out, notes }: AdminResult, exitCode: 1 | 2): string {
  expect({ code, out, notes }).toEqual({ code: exitCode, out: '', notes: expect.any(String) })
  return notes
}
