import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

/** Where nobody else leaves anything: what is still there, or still knows of it, was left behind. */
let folder: string
let bench: ChildProcess
let output: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interrupted-'))
  output = ''
  const line = [join(projectRoot, 'src/launch.cjs'), 'bench', '--quick', 'latency']
  bench = spawn(process.execPath, line, { cwd: projectRoot, env: { ...process.env, TMPDIR: folder } })
  for (const stream of [bench.stdout, bench.stderr]) {
    stream?.on('data', (data: Buffer) => {
      output += data
    })
  }
})

afterEach(() => {
  bench.kill('SIGKILL')
  for (const { processId } of processes()) process.kill(processId, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Those that were started with our TMPDIR, with what is in their environment. */
function processes(): { readonly processId: number; readonly environment: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ processId: Number(name), environment: environmentOf(name) }))
    .filter(({ environment }) => environment.includes(`TMPDIR=${folder}\0`))
}

function environmentOf(name: string): string {
  try {
    return readFileSync(join('/proc', name, 'environ'), 'latin1')
  } catch {
    return ''
  }
}

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 20_000
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`it did not come to that; ${output}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The server that is measured; it is there, and writes to its folder. */
async function serverAtWork(): Promise<number> {
  let found: number | undefined
  await until(() => {
    found = processes().find(({ environment }) => environment.includes(`DATA_DIR=${folder}`))?.processId
    // The load is there too, and the store open.
    return found !== undefined && processes().length === 3 && readdirSync(folder, { recursive: true }).length > 3
  })
  return found as number
}

describe.runIf(existsSync('/proc/self/environ'))('a bench leaves nothing behind', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('that was ended by %s', async (signal, code) => {
    await serverAtWork()
    expect(readdirSync(folder)).not.toEqual([])
    const ended = once(bench, 'exit')
    bench.kill(signal)
    // As npm does, which hears the terminal's too.
    bench.kill(signal)
    expect(await ended).toEqual([code, null])
    expect(readdirSync(folder)).toEqual([])
    // Killed, not asked: nothing to wait for but the kernel.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(processes()).toEqual([])
  })

  test('whose server ended: it says so, reports the rest and fails', async () => {
    process.kill(await serverAtWork(), 'SIGKILL')
    const [code] = await once(bench, 'exit')
    expect(code).toBe(1)
    expect(output).toMatch(/^round 1 {2}full speed \/ process failed: Error: /m)
    expect(output).toContain('\n## Failed\n')
    expect(output).toContain('- round 1  50 % / process: Error: it rests on full speed / process')
    expect(readdirSync(folder)).toEqual([])
    expect(processes()).toEqual([])
  })
})
