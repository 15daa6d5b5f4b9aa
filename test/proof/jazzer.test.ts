import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { targets } from '#bench/proof/jazzer/targets'
import { jazzerCommand } from '#bench/proof/jazzer-command'

/** Spoilt, they are tried by `test/attacks/fuzz/targets.test.ts`. */
describe.each(Object.entries(targets))('%s', (_, { seeds, fuzz }) => {
  test.each(seeds.map((seed) => [Buffer.from(seed).toString('latin1').slice(0, 60), seed] as const))(
    'takes %j',
    (_, seed) => {
      expect(fuzz(seed)).toBe('taken')
    },
  )
})

test('each target is a file of its own, by its name', () => {
  const files = readdirSync(join(projectRoot, 'bench/proof/jazzer/targets'))
  expect(files.sort()).toEqual(
    Object.keys(targets)
      .map((name) => `${name}.ts`)
      .sort(),
  )
})

describe('the command', () => {
  let folder: string
  const said: string[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'jazzer-test-'))
    said.length = 0
    for (const stream of ['log', 'error'] as const) {
      vi.spyOn(console, stream).mockImplementation((line) => void said.push(String(line)))
    }
  })
  afterEach(() => {
    vi.restoreAllMocks()
    rmSync(folder, { recursive: true })
  })

  /** Something in the place of Jazzer.js: its command, and what it is loaded by. */
  function install(cli: string, addon = ''): void {
    const packages = { core: ['dist/cli.js', cli], fuzzer: ['index.js', addon] } as const
    for (const [name, [file, text]] of Object.entries(packages)) {
      const path = join(folder, 'node_modules/@jazzer.js', name)
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, 'package.json'), JSON.stringify({ name: `@jazzer.js/${name}`, main: file }))
      writeFileSync(join(path, file), text)
    }
  }
  const run = (...more: string[]) =>
    jazzerCommand(['--from', folder, '--target', 'filters', '--seconds', '7', '--seed', '5', ...more])

  test('says that it could not be tried, and what to install, where there is no Jazzer.js', async () => {
    await expect(run()).rejects.toThrow(
      /could not be tried: @jazzer\.js\/core is not installed in .*npm install @jazzer\.js\/core.*glibc 2\.38/,
    )
    expect(said).toEqual([])
    // As whoever runs it sees it: 0 would be that nothing was found, 1 that something was.
    const line = [join(projectRoot, 'src/launch.cjs'), 'proof', 'jazzer', '--from', folder]
    const { status, stderr } = spawnSync(process.execPath, line, { cwd: projectRoot, encoding: 'utf8' })
    expect([status, stderr]).toEqual([2, expect.stringContaining('could not be tried')])
  })

  test('says why it could not be tried where Jazzer.js cannot be loaded', async () => {
    install('', 'throw new Error("version `GLIBC_2.38\' not found")')
    await expect(run()).rejects.toThrow(/could not be tried: .*`GLIBC_2\.38' not found; .*needs glibc 2\.38/)
    await expect(run('--node', join(folder, 'no-node'))).rejects.toThrow(/could not be tried: .*ENOENT/)
  })

  test('says so when Jazzer.js ends by itself', async () => {
    install('console.error("no such option"); process.exit(1)')
    await expect(run()).rejects.toThrow(/filters: Jazzer\.js ended with 1:\nno such option/)
    install('console.error("INITED")')
    await expect(run()).rejects.toThrow(/filters: Jazzer\.js ended with 0:\nINITED/)
  })

  test('says how much was tried when nothing is found', async () => {
    install(`
      const [target, corpus, ...args] = process.argv.slice(2)
      const seeds = require('node:fs').readdirSync(corpus).length
      if (!/targets.filters\\.js$/.test(target) || seeds !== ${targets.filters?.seeds.length}) process.exit(1)
      for (const option of ['--sync', '-max_total_time=7', '-seed=5']) if (!args.includes(option)) process.exit(1)
      console.error('#1 INITED cov: 3 ft: 4\\n#12 DONE cov: 40 ft: 4\\nstat::number_of_executed_units: 12')`)
    expect(await run()).toBe(true)
    expect(said).toEqual(['filters: for 7 s, seed 5', 'filters: called 12 times, 40 edges reached, nothing found'])
  })

  test('shows what was found, and its bytes to try again', async () => {
    install(`
      const prefix = process.argv.find((each) => each.startsWith('-artifact_prefix=')).slice(17)
      require('node:fs').writeFileSync(prefix + 'crash-1', Buffer.from([1, 255]))
      console.error('INFO: seed\\n==7== Uncaught Exception: Error: it broke')
      process.exit(77)`)
    expect(await run()).toBe(false)
    expect(said.at(-1)).toBe(
      'filters: FOUND something\n==7== Uncaught Exception: Error: it broke\n\n' +
        'again: npm run proof -- jazzer --target filters --bytes Af8=',
    )
  })

  test('calls a target with bytes, without Jazzer.js', async () => {
    const [seed] = targets.filters?.seeds ?? []
    expect(await run('--bytes', Buffer.from(seed ?? '').toString('base64'))).toBe(true)
    expect(await run('--bytes', 'Af8=')).toBe(true)
    expect(said).toEqual(['filters: taken', 'filters: refused'])
  })

  test('knows its targets', async () => {
    await expect(jazzerCommand(['--target', 'constructor'])).rejects.toThrow(/--target: one of link-json, /)
    expect(await jazzerCommand(['--help'])).toBe(true)
    for (const name of Object.keys(targets)) expect(said.join()).toContain(`  ${name} `)
  })
})
