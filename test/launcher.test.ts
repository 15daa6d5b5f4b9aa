import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { folderOfTest } from '#test/temporary-folder'

/** The launcher in a small project, whose compiler and npm record their calls. */

let folder: string
const at = (path: string) => join(folder, path)
const calls = () => (existsSync(at('calls')) ? readFileSync(at('calls'), 'utf8').trim().split('\n') : [])

function put(path: string, content: string): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), content)
}

const recordCall = `require('fs').appendFileSync('calls', process.argv[1].split('/').at(-1) + ' ' + process.argv.slice(2).join(' ') + '\\n')`
const engines = (node: string) => JSON.stringify({ engines: { node } })
const runtime = `node_modules/.runtime/node_modules/node-${process.platform}-${process.arch}/bin/node`
const binary = `node_modules/uWebSockets.js/uws_${process.platform}_${process.arch}_${process.versions.modules}.node`

beforeEach(() => {
  folder = folderOfTest()
  mkdirSync(at('src'))
  cpSync(join(projectRoot, 'src/launch.cjs'), at('src/launch.cjs'))
  put('package.json', engines('>=20.19'))
  put('package-lock.json', '{"packages":{}}')
  put('tsconfig.build.json', '{}')
  put('src/app/main.ts', 'console.log(1)')
  put(binary, '')
  // npm writes its record after it has installed everything.
  put('npm-cli.js', `${recordCall}; require('fs').writeFileSync('node_modules/.package-lock.json', '{"packages":{}}')`)
  put(
    'node_modules/typescript/bin/tsc',
    `${recordCall}; require('fs').cpSync('src/app/main.ts', 'dist/src/app/main.js')`,
  )
})

function launch(...args: string[]) {
  const env = { ...process.env, npm_execpath: at('npm-cli.js'), npm_lifecycle_event: '' }
  const child = spawn(process.execPath, ['src/launch.cjs', ...args], { cwd: folder, env, timeout: 60_000 })
  const ended = new Promise((resolve) => child.once('close', resolve))
  return Promise.all([ended, text(child.stdout), text(child.stderr)])
}

const compiled = 'tsc -p tsconfig.build.json'
const building = 'device-data-backend: building\n'

test('installs and builds only after a change', async () => {
  const installing = 'device-data-backend: installing packages\n'
  expect(await launch('start')).toEqual([0, '1\n', installing + building])
  expect(calls()).toEqual([
    'npm-cli.js ci --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error',
    compiled,
  ])
  utimesSync(at('src/app/main.ts'), 1, 1)
  expect(await launch('start')).toEqual([0, '1\n', ''])
  put('src/app/main.ts', 'console.log(process.env.UV_THREADPOOL_SIZE, process.argv.slice(2))')
  put('dist/src/gone.js', '')
  expect(await launch('start', '--help')).toEqual([0, "8 [ '--help' ]\n", building])
  expect(existsSync(at('dist/src/gone.js'))).toBe(false)
  expect(await launch('build')).toEqual([0, '', ''])
  expect(await launch('build', '--force')).toEqual([0, '', building])
  expect(calls().slice(2)).toEqual([compiled, compiled])
})

test('several launches at once install and build once, also after a killed launch', async () => {
  put('dist/.lock', String(spawnSync(process.execPath, ['--version']).pid))
  const ends = await Promise.all(Array.from({ length: 6 }, () => launch('start')))
  expect(ends.map(([code, out]) => [code, out])).toEqual(Array(6).fill([0, '1\n']))
  expect(calls().map((line) => line.split(' ')[0])).toEqual(['npm-cli.js', 'tsc'])
})

test.runIf(process.platform === 'linux')(
  'a Node without a binary installs Node 22 once, and runs with it',
  async () => {
    rmSync(at(binary))
    // Represents Node 22, which has the binary.
    const script = `#!/bin/sh\n: > ${binary}\nexec ${process.execPath} "$@"\n`
    const write = `require('fs').mkdirSync('${dirname(runtime)}', { recursive: true }); require('fs').writeFileSync('${runtime}', ${JSON.stringify(script)}, { mode: 0o755 })`
    put('node_modules/.package-lock.json', '{"packages":{}}')
    put('npm-cli.js', `${recordCall}; ${write}`)
    const [code, out, errors] = await launch('start')
    expect([code, out]).toEqual([0, '1\n'])
    expect(errors).toContain(`no binary for Node ${process.version}: installing Node 22 into node_modules/.runtime\n`)
    rmSync(at(binary))
    expect(await launch('start')).toEqual([0, '1\n', ''])
    expect(calls().filter((line) => line.includes('@22'))).toHaveLength(1)
  },
)

test('an installation by npm is accepted', async () => {
  put('package-lock.json', '{"packages":{"":{},"a":{"version":"1.0.0"},"b":{"version":"1.0.0","optional":true}}}')
  put('node_modules/.package-lock.json', '{"packages":{"a":{"version":"1.0.0"}}}')
  expect(await launch('start')).toEqual([0, '1\n', building])
})

test('an installed package starts its programs in the current folder, and builds nothing', async () => {
  const installed = join(folder, 'node_modules/device-data-backend')
  mkdirSync(join(installed, 'dist/src/app'), { recursive: true })
  for (const path of ['src/launch.cjs', 'package.json']) cpSync(at(path), join(installed, path))
  writeFileSync(join(installed, 'dist/src/app/main.js'), 'console.log(process.cwd())')
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(installed, 'src/launch.cjs'), ...args], { cwd: at('src'), encoding: 'utf8' })
  const { status, stdout, stderr } = run()
  expect([status, stdout, stderr]).toEqual([0, `${realpathSync(at('src'))}\n`, ''])
  expect(run('check').stderr).toBe('device-data-backend: usage: device-data-backend start [arguments]\n')
})

test.each<[string, () => void, string, string]>([
  ['an unknown command', () => {}, 'run', 'usage: device-data-backend start|'],
  ['an older Node', () => put('package.json', engines('>=98.1')), 'start', 'needs Node 98.1 or newer; this is v'],
  [
    'a runtime without a binary',
    () => {
      rmSync(at(binary))
      mkdirSync(dirname(at(runtime)), { recursive: true })
      symlinkSync(process.execPath, at(runtime))
    },
    'start',
    'uWebSockets.js has no binary for Node v',
  ],
  ['an installation that fails', () => put('npm-cli.js', 'process.exit(1)'), 'start', 'npm could not install'],
  [
    'a build that fails',
    () => put('node_modules/typescript/bin/tsc', 'process.exit(1)'),
    'start',
    'the sources could not be compiled',
  ],
  ['a missing program', () => {}, 'bench', 'bench: bench/run.ts was not built'],
])('%s is reported in one line without a stack', async (_, prepare, command, complaint) => {
  prepare()
  const [code, out, errors] = await launch(command)
  expect([code, out]).toEqual([1, ''])
  expect(errors.trim().split('\n').at(-1)).toContain(`device-data-backend: ${complaint}`)
})

test('a build that fails leaves the earlier build in place', async () => {
  put('dist/src/app/main.js', '')
  put('node_modules/typescript/bin/tsc', 'process.exit(1)')
  expect((await launch('build', '--force'))[0]).toBe(1)
  expect(existsSync(at('dist/src/app/main.js'))).toBe(true)
})
