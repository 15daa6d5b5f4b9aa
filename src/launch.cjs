'use strict'
/**
 * Starts everything of this project: checks Node, installs and builds what is missing or old, then runs.
 *
 * CommonJS on purpose. Node 20 reads ES modules through libuv's thread pool, which takes its size at its first use: set
 * from an `.mjs`, UV_THREADPOOL_SIZE came too late (seen: 4 threads instead of 8). Plain JavaScript without
 * dependencies, so that it can complain on a Node that runs nothing else of this project.
 */
const { spawn, spawnSync } = require('node:child_process')
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

const root = dirname(__dirname)
const programs = {
  start: 'dist/src/main.js',
  demo: 'dist/bench/demo.js',
  fleet: 'dist/bench/fleet.js',
  bench: 'dist/bench/run.js',
  proof: 'dist/bench/proof.js',
  admin: 'dist/src/cli/main.js',
  doctor: 'dist/src/doctor/main.js',
}
const tools = {
  tsc: 'node_modules/typescript/bin/tsc',
  biome: 'node_modules/@biomejs/biome/bin/biome',
  vitest: 'node_modules/vitest/vitest.mjs',
  vite: 'node_modules/vite/bin/vite.js',
  knip: 'node_modules/knip/bin/knip.js',
}
/** What the build reads. Tests are checked by `check` and run from their sources. */
const sourceFolders = ['src', 'actors', 'bench']
const projects = ['tsconfig.build.json', 'tsconfig.client.json']
const buildInputs = ['tsconfig.json', ...projects, 'package.json', 'package-lock.json']
const dashboard = 'src/dashboard'
const viewer = 'src/pages/viewer'

/** What is built, in this order, each anew when one of its inputs is another. */
const builds = [
  {
    stamp: 'dist/.built-from',
    inputs: () => [
      ...buildInputs.filter(isThere),
      ...sourceFolders
        .flatMap(walk)
        .filter((path) => path.endsWith('.ts') && !isWithin(path, dashboard))
        .sort(),
    ],
    make: compile,
  },
  {
    // The dashboard imports of the model and the client what it likes; which files these are is Vite's to know.
    stamp: 'dist/pages/.built-from',
    inputs: () =>
      isThere(dashboard)
        ? ['package-lock.json', ...[dashboard, 'src/client', 'src/model'].flatMap(walk).sort()].filter(isThere)
        : [],
    make: bundleDashboard,
  },
  {
    // What the two before it left is compressed too: where they ran again, so does this.
    stamp: 'dist/pages/.made-from',
    inputs: () =>
      isThere(viewer) ? ['dist/.built-from', 'dist/pages/.built-from', ...walk(viewer)].filter(isThere) : [],
    make: () => makePages([]),
  },
]

const commands = {
  start: (args) => run('start', args),
  demo: (args) => run('demo', args),
  fleet: (args) => run('fleet', args),
  bench: (args) => run('bench', args),
  proof: (args) => run('proof', args),
  admin: (args) => run('admin', args),
  doctor: (args) => run('doctor', args),
  dev,
  test: (args) => (hasNames(args) ? runTests(args) : runTests([...fastTests, ...args], 'slow tests', 'test:all')),
  'test:all': (args) => runTests(['--project', 'slow', ...args], 'fast tests', 'test'),
  'test:watch': (args) => forward([[tools.vitest, 'watch', ...(hasNames(args) ? [] : fastTests), ...args]]),
  check: (args) => {
    const failures = [
      [tools.biome, 'check', '--error-on-warnings', ...args],
      [tools.tsc, '--noEmit'],
      [tools.tsc, '--noEmit', '-p', dashboard],
      [tools.knip],
    ].filter((line) => spawnSync(process.execPath, line, { cwd: root, stdio: 'inherit' }).status !== 0)
    process.exitCode = failures.length > 0 ? 1 : 0
  },
  build: async (args) => {
    if (args.includes('--settings')) await writeSettingsTable()
    if (args.includes('--description')) makePages(['--description'])
  },
}

/** For people: one line, no stack. */
class Complaint extends Error {}

async function main() {
  const [name = '', ...args] = process.argv.slice(2)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new Complaint(`usage: launch ${Object.keys(commands).join('|')} [arguments]`)
  checkNode()
  if (!isInstalled() || (name !== 'check' && !isBuilt())) {
    withLock(() => {
      if (!isInstalled()) install()
      if (name !== 'check' && name !== 'build' && !isBuilt()) build()
    })
  }
  checkBinary()
  if (name === 'build') {
    if (args.includes('--force')) for (const { stamp } of builds) fs.rmSync(join(root, stamp), { force: true })
    withLock(build)
  }
  // Both are read once, by native code: the first when libuv's pool starts, the second when uWebSockets.js is loaded.
  process.env.UV_THREADPOOL_SIZE ??= '8'
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '16384'
  if (process.env.npm_lifecycle_event) stopWithParent()
  await command(args)
}

// Tests

const fastTests = ['--project', 'parts', '--project', 'whole']

/** A file that is named runs in whatever tier it is. */
function hasNames(args) {
  return args.some((arg) => !arg.startsWith('-'))
}

async function runTests(args, leftOut, script) {
  await forward([[tools.vitest, 'run', ...args]])
  if (leftOut) say(`left out: the ${leftOut}; they run with: npm run ${script}`)
}

/** In this process, so that whoever signals npm's child signals the server itself. */
async function run(name, args) {
  const program = join(root, programs[name])
  if (!fs.existsSync(program)) throw new Complaint(`${name}: nothing was built from ${sourceOf(programs[name])}`)
  process.argv.splice(1, process.argv.length, program, ...args)
  process.setSourceMapsEnabled(true)
  await import(pathToFileURL(program).href)
}

/** Between npm and this process stands a shell that dies of a signal without passing it on; it was meant for us. */
function stopWithParent() {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  timer.unref()
}

function dev(args) {
  // The watching compiler writes past the stamp: after it the next start builds anew.
  fs.rmSync(join(root, builds[0].stamp), { force: true })
  return forward([
    [tools.tsc, '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'],
    [tools.vite, '--config', join(dashboard, 'vite.config.ts')],
    ['--watch', '--watch-preserve-output', '--enable-source-maps', programs.start, ...args],
  ])
}

/** Runs Node once per line, side by side; the first to end ends the others, and its code is ours. */
function forward(lines) {
  const children = lines.map((line) => spawn(process.execPath, line, { cwd: root, stdio: 'inherit' }))
  const stopAll = (signal) => {
    for (const child of children) child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopAll(signal))
  const ends = children.map(
    (child) =>
      new Promise((resolve) => {
        child.on('exit', (code) => {
          process.exitCode ??= code ?? 1
          stopAll('SIGTERM')
          resolve()
        })
      }),
  )
  return Promise.all(ends)
}

// Node and its binary

function checkNode() {
  // `^20.19 || ^22.12`: the least of each line.
  const lines = readJson('package.json')
    .engines.node.split(' || ')
    .map((range) => range.slice(1))
  const [major] = process.versions.node.split('.')
  const isOfLine = lines.some((least) => least.startsWith(`${major}.`) && !isOlder(process.versions.node, least))
  // A newer one is fine with a uWebSockets.js that has a binary for it.
  const isNewer = lines.every((least) => Number(major) > Number.parseInt(least, 10))
  if (isOfLine || (isNewer && findBinary())) return
  const wish = lines.map((least) => `${Number.parseInt(least, 10)} from ${least}`).join(' or ')
  throw new Complaint(`needs Node ${wish}; this is ${process.version}. Install Node 22 (nodejs.org) and run it again.`)
}

function isOlder(version, than) {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  for (let place = 0; place < 3; place++) {
    if ((a[place] ?? 0) !== (b[place] ?? 0)) return (a[place] ?? 0) < (b[place] ?? 0)
  }
  return false
}

/** The file that uWebSockets.js will ask for: in `dist/bin` of the repack, at the top of the original package. */
function findBinary() {
  const file = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  const folder = join(root, 'node_modules/uWebSockets.js')
  return [join(folder, 'dist/bin', file), join(folder, file)].find((path) => fs.existsSync(path))
}

function checkBinary() {
  const here = `Node ${process.version} on ${process.platform}-${process.arch}`
  if (!findBinary()) {
    throw new Complaint(
      `uWebSockets.js has no binary for ${here}. Install Node 22 for Linux, macOS or Windows, 64 bit.`,
    )
  }
  if (process.platform === 'linux' && fs.existsSync('/etc/alpine-release')) {
    throw new Complaint(`uWebSockets.js has no binary for musl (${here}, Alpine). Use a Linux with glibc, like Debian.`)
  }
}

// Packages

const lockfile = () => join(root, 'package-lock.json')
const installStamp = () => join(root, 'node_modules/.installed-from')

function isInstalled() {
  const wanted = hashOfFile(lockfile())
  if (wanted === undefined) return fs.existsSync(join(root, 'node_modules/.package-lock.json'))
  if (readText(installStamp()) === wanted) return true
  // Somebody else may have installed, with npm alone: npm's own record of it says what.
  const record = readJson('node_modules/.package-lock.json')?.packages
  if (!record) return false
  const isThere = ([path, { version, optional }]) => path === '' || optional || record[path]?.version === version
  if (!Object.entries(readJson('package-lock.json').packages).every(isThere)) return false
  fs.writeFileSync(installStamp(), wanted)
  return true
}

function install() {
  const wanted = hashOfFile(lockfile())
  say('installing packages')
  // No install scripts: every native package here carries its binaries.
  const line = [
    wanted ? 'ci' : 'install',
    '--include=dev',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const npm = process.env.npm_execpath ?? ''
  // The output goes to standard error: standard output belongs to what is started.
  const options = { cwd: root, stdio: ['ignore', 2, 2] }
  const { status } = npm.endsWith('npm-cli.js')
    ? spawnSync(process.execPath, [npm, ...line], options)
    : spawnSync('npm', line, { ...options, shell: process.platform === 'win32' })
  if (status !== 0) throw new Complaint('npm could not install the packages; what it says stands above.')
  fs.writeFileSync(installStamp(), wanted ?? '')
}

// Build

function isBuilt() {
  return builds.every(isUpToDate)
}

/** Looks at sizes and times first; only where they differ, as after a checkout, at contents. */
function isUpToDate({ stamp, inputs }) {
  const files = inputs()
  if (files.length === 0) return true
  const [look, content] = (readText(join(root, stamp)) ?? '').split(' ')
  if (!content) return false
  const lookNow = hashOfLook(files)
  if (look === lookNow) return true
  if (content !== hashOfContent(files)) return false
  fs.writeFileSync(join(root, stamp), `${lookNow} ${content}`)
  return true
}

function build() {
  if (!isBuilt()) say('building')
  for (const each of builds) {
    // Asked one by one: what one of them makes is an input of another.
    if (isUpToDate(each)) continue
    const { stamp, inputs, make } = each
    // Taken before the compiler reads: what changes meanwhile is built by the next run.
    const files = inputs()
    const text = `${hashOfLook(files)} ${hashOfContent(files)}`
    const path = join(root, stamp)
    fs.rmSync(path, { force: true })
    make()
    fs.mkdirSync(dirname(path), { recursive: true })
    fs.writeFileSync(path, text)
  }
}

function compile() {
  // The second makes types for others, of the client library; in the container nobody asks for them.
  for (const project of projects.filter(isThere)) {
    runTool([tools.tsc, '-p', project], 'the build failed; what the compiler says stands above.')
  }
  sweepBuilt()
}

function bundleDashboard() {
  const line = [tools.vite, 'build', '--config', join(dashboard, 'vite.config.ts'), '--logLevel', 'warn']
  runTool(line, 'the dashboard could not be built; what Vite says stands above.')
}

/** The description of the API with its viewer; of all pages what they are when compressed. */
function makePages(args) {
  runTool(['dist/src/pages/make.js', ...args], 'the pages could not be made; why stands above.')
}

/** What it says goes to standard error: standard output belongs to what is started. */
function runTool(line, complaint) {
  const { status } = spawnSync(process.execPath, line, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Complaint(complaint)
}

/** Takes away what was built from sources that are gone. */
function sweepBuilt() {
  for (const folder of sourceFolders) {
    for (const path of walk(join('dist', folder)).filter((name) => name.endsWith('.js'))) {
      if (fs.existsSync(join(root, sourceOf(path)))) continue
      for (const stale of [path, `${path}.map`]) fs.rmSync(join(root, stale), { force: true })
    }
  }
}

function sourceOf(built) {
  return built.replace(/^dist[\\/]/, '').replace(/\.js$/, '.ts')
}

function isThere(path) {
  return fs.existsSync(join(root, path))
}

function isWithin(path, folder) {
  return path.startsWith(join(folder, '/'))
}

function walk(folder) {
  if (!fs.existsSync(join(root, folder))) return []
  return fs.readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? walk(path) : [path]
  })
}

function hashOfLook(files) {
  const hash = createHash('sha256')
  for (const path of files) {
    const { size, mtimeMs } = fs.statSync(join(root, path))
    hash.update(`${path} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

function hashOfContent(files) {
  const hash = createHash('sha256')
  for (const path of files)
    hash
      .update(`${path}\n`)
      .update(fs.readFileSync(join(root, path)))
      .update('\n')
  return hash.digest('hex')
}

/** Puts the settings as they are into the operator's guide, between its two markers. */
async function writeSettingsTable() {
  const { placeTable } = await import(pathToFileURL(join(root, 'dist/src/config-text.js')).href)
  const path = join(root, 'docs/operator-guide.md')
  fs.writeFileSync(path, placeTable(fs.readFileSync(path, 'utf8')))
}

// Small things

/** One launcher at a time installs and builds; the others wait, then find it done. */
function withLock(work) {
  const path = join(root, 'dist/.lock')
  fs.mkdirSync(dirname(path), { recursive: true })
  while (!takeLock(path)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  try {
    work()
  } finally {
    fs.rmSync(path, { force: true })
  }
}

function takeLock(path) {
  try {
    fs.writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  if (isLeftBehind(path)) fs.rmSync(path, { force: true })
  return false
}

/** Its holder was killed; an empty one is being written now, or was when its holder was killed. */
function isLeftBehind(path) {
  const holder = readText(path)
  if (holder === '') return Date.now() - fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs > 5000
  return holder !== undefined && !isAlive(Number(holder))
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readText(path) {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function readJson(path) {
  const text = readText(join(root, path))
  return text === undefined ? undefined : JSON.parse(text)
}

function hashOfFile(path) {
  const text = readText(path)
  return text === undefined ? undefined : createHash('sha256').update(text).digest('hex')
}

function say(what) {
  process.stderr.write(`device-data-backend: ${what}\n`)
}

// For who has to know whether what runs is what stands in the sources: the reports of measurements.
module.exports = { buildSources: [...sourceFolders, ...buildInputs], isBuilt, build }

if (require.main === module) {
  main().catch((error) => {
    if (!(error instanceof Complaint)) throw error
    say(error.message)
    process.exitCode = 1
  })
}
