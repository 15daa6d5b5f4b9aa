import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#bench/server-process'
import { until } from '#test/blackbox/until'
import { EmptyProject, outsideEnvironment, type Packed } from '#test/packages/packed'

/** The server from its packed file, in an otherwise empty project. */

let project: EmptyProject
let packed: Packed
/** The reason why nothing was installed, to skip the tests. */
let notInstalled: string | undefined

beforeAll(async () => {
  project = new EmptyProject()
  packed = await project.pack(projectRoot)
  try {
    await project.install('--ignore-scripts', packed.file)
  } catch (error) {
    if (process.env.CI) throw error
    notInstalled = `SKIPPED, not passed: the registry did not provide the dependencies: ${(error as Error).message}`
  }
})
afterAll(() => project?.remove())
beforeEach((context) => {
  if (notInstalled) context.skip(notInstalled)
})

const healthStarted = 60_000

/** Starts the server with npx. When it answers, calls `check`, and ends it with Ctrl-C. Returns the output of the server. */
async function runUntilInterrupted(args: readonly string[], check: (base: string) => Promise<void>): Promise<string> {
  const port = await freePort()
  const environment = { ...outsideEnvironment(), PORT: String(port), STORAGE_HEADROOM_MB: '0' }
  const child: ChildProcess = spawn('npx', ['--no-install', 'device-data-backend', ...args], {
    cwd: project.folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which gets Ctrl-C as a whole, as from a terminal.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const signal = (name: NodeJS.Signals) => process.kill(-(child.pid ?? 0), name)
  const base = `http://127.0.0.1:${port}/api/v1`
  try {
    await until(
      () =>
        fetch(`${base}/health`).then(
          async (answer) => (await answer.text()) === '{"status":"ok"}',
          () => false,
        ),
      () => `the server to answer\n${output}`,
      healthStarted,
    )
    await check(base)
    signal('SIGINT')
    await ended
  } finally {
    if (child.exitCode === null && child.signalCode === null) signal('SIGKILL')
  }
  return output
}

test('the packed file has the built server, and no sources, tests or scripts that run at installation', () => {
  console.info(`the packed server is ${(packed.bytes / 1e6).toFixed(1)} MB`)
  expect(packed.bytes).toBeLessThan(4e6)
  expect(packed.paths).toEqual(
    expect.arrayContaining(['src/launch.cjs', 'dist/src/app/main.js', 'dist/pages/dashboard/index.html', 'LICENSE']),
  )
  const expected = /^(dist\/(src|actors|bench)\/.*\.js|dist\/pages\/.*|src\/launch\.cjs|package\.json|[A-Z]+(\.md)?)$/
  expect(packed.paths.filter((path) => !expected.test(path))).toEqual([])
  const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([])
})

test('npx device-data-backend starts it on the current folder, and Ctrl-C stops it cleanly', async () => {
  const output = await runUntilInterrupted([], async (base) => {
    expect((await fetch(`${base}/devices`)).status).toBe(401)
    const dashboard = await fetch(base.replace('/api/v1', '/'))
    expect([dashboard.status, await dashboard.text()]).toEqual([200, expect.stringContaining('<script')])
  })
  expect(output).toContain('"msg":"stopped"')
  expect(existsSync(join(project.folder, 'data/db/CURRENT'))).toBe(true)
})

test('npx device-data-backend demo shows devices, and Ctrl-C stops it cleanly', async () => {
  const output = await runUntilInterrupted(['demo', '--devices', '20'], async (base) => {
    await until(async () => {
      const answer = await fetch(`${base}/devices?depth=0`)
      return answer.ok && ((await answer.json()) as unknown[]).length >= 20
    }, 'the devices of the demo')
  })
  expect(output).toMatch(/changes acknowledged, \d+ events received; stopped/)
  expect(output).not.toContain('FAULT')
  expect(readdirSync(join(project.folder, 'data/demo'))).toContain('db')
})
