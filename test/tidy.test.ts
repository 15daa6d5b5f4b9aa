import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const textOf = (path: string) => readFileSync(join(root, path), 'utf8')

/** The modules that each module may import, by the table in ARCHITECTURE.md. */
const modules: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  [...textOf('ARCHITECTURE.md').matchAll(/^\| `(src\/\w+|actors)(?:\/\*)?` \|.*\| (.+) \|$/gm)].map(
    ([, module, allowed = '']) => [module, allowed === '—' ? [] : allowed.split(', ').map(moduleNamed)],
  ),
)

function moduleNamed(name: string): string {
  if (name === 'all') return '*'
  return name === 'actors' ? name : `src/${name}`
}

/** The modules or files that may import a package or a part of Node. Other packages may not be imported. */
const allowedImporters: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['src/http'],
  level: ['src/store'],
  'classic-level': ['src/store'],
  'abstract-level': ['src/store'],
  msgpackr: ['src/store', 'src/link', 'src/cluster'],
  '@nats-io/transport-node': ['src/cluster'],
  '@nats-io/jetstream': ['src/cluster'],
  '@nats-io/kv': ['src/cluster'],
  '@nats-io/obj': ['src/cluster'],
  ws: ['src/cluster/tunnel'],
  'mqtt-packet': ['src/mqtt'],
  xstate: ['actors'],
  'json-logic-engine': ['src/rules'],
  semver: ['src/model/release'],
  mustache: ['src/model/mustache'],
  nodemailer: ['src/notifications'],
  croner: ['src/firmware/schedule'],
  '@node-rs/argon2': ['src/access'],
  jose: ['src/access'],
  otpauth: ['src/access'],
  '@simplewebauthn/server': ['src/access'],
  '@simplewebauthn/browser': ['src/dashboard'],
  preact: ['src/dashboard'],
  uplot: ['src/dashboard'],
  uqr: ['src/dashboard'],
  vite: ['src/dashboard/vite.config', 'src/client/package/vite.config'],
  react: ['src/client/package/react'],
  commander: ['src/cli'],
  pino: ['src/app/log'],
  'pino-pretty': ['src/app/log'],
  zod: ['*'],
  'node:fs': [
    'src/store',
    'src/notifications',
    'src/cli',
    'src/app/main',
    'src/access/passwords',
    'src/client/package/vite.config',
  ],
  'node:fs/promises': [
    'src/store',
    'src/notifications',
    'src/routes/pages',
    'src/cluster/nats-connection',
    'src/app/mqtt',
    'src/cli',
    'src/app/main',
    'src/app/metrics/process-metrics',
    'src/routes/health',
  ],
  'node:http': [
    'src/firmware/external-update-server',
    'src/notifications/webhook-sender',
    'src/http',
    'src/cluster/forwarder',
    'src/app/cluster-image',
    'src/cli/exchange',
  ],
  'node:https': [
    'src/firmware/external-update-server',
    'src/notifications/webhook-sender',
    'src/cluster/forwarder',
    'src/app/cluster-image',
    'src/cli/exchange',
  ],
  'node:net': ['src/mqtt', 'src/notifications', 'src/http', 'src/cli'],
  'node:tls': ['src/mqtt', 'src/notifications'],
  'node:dns': ['src/notifications'],
  'node:timers': ['src/app/world'],
  'node:timers/promises': ['src/app/world'],
  'node:perf_hooks': ['src/app/world', 'src/app/metrics/process-metrics'],
  'prom-client': ['src/app/metrics/metrics'],
  'node:worker_threads': ['src/app/history-thread', 'src/app/history-worker'],
  // One process that hashes passwords.
  'node:child_process': ['src/access/passwords'],
  'node:cluster': [],
  'node:*': ['*'],
}

/** The only files that may use the environment, time and randomness. */
const environmentAccess: readonly {
  readonly what: string
  readonly pattern: RegExp
  readonly files: readonly string[]
}[] = [
  {
    what: 'the environment',
    pattern: /\bprocess\s*\.\s*env\b|\bimport\.meta\.env\b/,
    files: ['src/app/main.ts', 'src/cli/main.ts', 'src/cli/doctor/main.ts'],
  },
  {
    what: 'the time',
    pattern: /\bDate\s*\.\s*now\b|\bnew Date\b\s*(\(\s*\)|[^\s(])|(?<!new )\bDate\(|\bperformance\s*\.|\bhrtime\b/,
    files: ['src/app/world.ts', 'src/client/platform.ts', 'src/dashboard/timers.ts'],
  },
  {
    what: 'a timer',
    pattern: /\bset(Timeout|Interval|Immediate)\b|\bAbortSignal\s*\.\s*timeout\b/,
    files: ['src/app/world.ts', 'src/client/platform.ts', 'src/dashboard/timers.ts'],
  },
  {
    what: 'randomness',
    pattern: /\bMath\s*\.\s*random\b|\brandom(Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/,
    files: ['src/app/world.ts', 'src/client/platform.ts'],
  },
]

/** Plain JavaScript that runs before the build, outside of the modules. */
const launchers = ['src/launch.cjs']

const linesMax = 400
const emptyWords = /^(managers?|helpers?|utils?|utilities|common|base|misc|engines?|constants?|types)$/
const fileName = /^[a-z0-9]+(-[a-z0-9]+)*(\.slow)?(\.test|\.config)?\.(ts|tsx|mts|cjs|mjs)$/
const unfinished = /\b(TODO|FIXME|XXX)\b/
// `context.skip('needs root')` in a running test is allowed.
const skippedTest = /\b(test|it|describe|suite)(\.\w+)*\.(skip|only|todo)\b|\b[xf](it|describe)\s*\(/

interface Source {
  readonly path: string
  readonly text: string
}

/** The faults of a file, one line each. */
function faultsOf(source: Source): string[] {
  const isInModule = /^(src|actors)\//.test(source.path) && !launchers.includes(source.path)
  const rules = isInModule
    ? [importFaults, environmentFaults, nameFaults, sizeFaults, wordFaults]
    : [nameFaults, wordFaults]
  return rules.flatMap((rule) => rule(source)).map((fault) => `${source.path}: ${fault}`)
}

function importFaults({ path, text }: Source): string[] {
  const module = moduleOf(path)
  if (!module) return ['is in no module']
  return importsOf(text).flatMap((specifier) => {
    if (!/^[.#]/.test(specifier)) return mayImport(path, specifier) ? [] : [`${module} may not import ${specifier}`]
    const target = resolve(path, specifier)
    const targetModule = target && moduleOf(target)
    if (!targetModule) return [`${specifier} is in no module`]
    if (targetModule === module) return []
    if (specifier.startsWith('.')) return [`import ${specifier} of ${targetModule} by its #name`]
    const allowed = modules[module] ?? []
    return allowed.includes('*') || allowed.includes(targetModule) ? [] : [`${module} may not import ${specifier}`]
  })
}

function mayImport(path: string, specifier: string): boolean {
  const name = specifier.startsWith('node:')
    ? specifier
    : specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  const importers = allowedImporters[name] ?? (name.startsWith('node:') ? allowedImporters['node:*'] : undefined)
  return (
    importers !== undefined &&
    (importers.includes('*') ||
      importers.some((each) => path.replace(/\.tsx?$/, '') === each || path.startsWith(`${each}/`)))
  )
}

function environmentFaults({ path, text }: Source): string[] {
  const code = withoutComments(text)
  return environmentAccess
    .filter(({ pattern, files }) => !files.includes(path) && pattern.test(code))
    .map(({ what, pattern, files }) => `${pattern.exec(code)?.[0]}: only ${files.join()} may use ${what}`)
}

function nameFaults({ path }: Source): string[] {
  const parts = path.replace(/\.[a-z.]+$/, '').split(/[/-]/)
  const faults = parts.filter((part) => emptyWords.test(part)).map((part) => `"${part}" has no meaning`)
  return fileName.test(posix.basename(path)) ? faults : [...faults, 'is not named in kebab-case']
}

function sizeFaults({ text }: Source): string[] {
  const count = text.split('\n').length - 1
  return count > linesMax ? [`${count} lines, ${linesMax} at most`] : []
}

function wordFaults({ path, text }: Source): string[] {
  const words = [unfinished.exec(text)?.[0], path.startsWith('test/') ? skippedTest.exec(text)?.[0] : undefined]
  return words.filter((word) => word !== undefined).map((word) => `contains ${word}`)
}

function moduleOf(path: string): string | undefined {
  return Object.keys(modules).find((module) => path.startsWith(`${module}/`) || path === `${module}.ts`)
}

/** The specifiers of all imports and re-exports, also of types and dynamic imports. */
function importsOf(text: string): string[] {
  const patterns = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"`])([^'"`\n]+)\1/g
  return [...withoutComments(text).matchAll(patterns)].map((match) => match[2] ?? '')
}

/** The path of a specifier, from the root. */
function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts')
  for (const [alias, { source }] of Object.entries(aliases)) {
    const start = alias.slice(0, -1)
    if (specifier.startsWith(start)) return posix.normalize(source.replace('*', specifier.slice(start.length)))
  }
  return undefined
}

/** Strings are matched too, so that they are not taken for comments. */
function withoutComments(text: string): string {
  const token = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g
  return text.replace(token, (found) => (found.startsWith('/') ? ' ' : found))
}

const aliases: Record<string, { source: string }> = JSON.parse(textOf('package.json')).imports
// This file has the forbidden words as data.
const sources = ['src', 'actors', 'bench', 'test'].flatMap(sourcesIn).filter(({ path }) => path !== 'test/tidy.test.ts')
const sourcePaths = new Set(sources.map(({ path }) => path))

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    .map((path) => ({ path, text: textOf(path) }))
}

test.each(sources.map((source) => [source.path, source] as const))('%s is tidy', (_, source) => {
  expect(faultsOf(source)).toEqual([])
})

test('there are sources', () => {
  expect(sources.length).toBeGreaterThan(50)
})

test('imports between modules have no cycle', () => {
  const visited = new Set<string>()
  const visit = (module: string, above: readonly string[]) => {
    expect(above, [...above, module].join(' → ')).not.toContain(module)
    if (visited.has(module)) return
    for (const below of modules[module] ?? []) if (below !== '*') visit(below, [...above, module])
    visited.add(module)
  }
  for (const module of Object.keys(modules)) visit(module, [])
})

/** A dynamic import may close a cycle, because it loads a page or a slow part only when that is needed. */
test('imports between files have no cycle, types included', () => {
  const imports = new Map(sources.map((source) => [source.path, filesImportedBy(source)]))
  const finished = new Set<string>()
  const visit = (path: string, above: readonly string[]) => {
    const from = above.indexOf(path)
    if (from >= 0) throw new Error(`imports in a cycle: ${[...above.slice(from), path].join(' → ')}`)
    if (finished.has(path)) return
    for (const next of imports.get(path) ?? []) visit(next, [...above, path])
    finished.add(path)
  }
  for (const path of imports.keys()) if (/^(src|actors)\//.test(path)) visit(path, [])
})

test('a server without a cluster loads no package of NATS', () => {
  const loaded = new Set<string>()
  const visit = (path: string) => {
    if (loaded.has(path)) return
    loaded.add(path)
    for (const next of filesImportedBy(sources.find((source) => source.path === path) as Source)) visit(next)
  }
  for (const path of ['src/app/main.ts', 'src/app/running-server.ts', 'src/cli/main.ts']) visit(path)
  const packages = [...loaded].flatMap((path) => importsOf(sources.find((source) => source.path === path)?.text ?? ''))
  expect(packages).toContain('uWebSockets.js')
  expect(packages.filter((name) => name.startsWith('@nats-io/'))).toEqual([])
})

function filesImportedBy({ path, text }: Source): readonly string[] {
  return importsOf(text.replace(/\bimport\(/g, 'dynamic('))
    .flatMap((specifier) => resolve(path, specifier) ?? [])
    .flatMap((found) => [found, `${found}x`, `${found}.ts`, `${found}.tsx`, found.replace(/\.ts$/, '.tsx')])
    .filter((found) => sourcePaths.has(found))
}

describe('a fault is', () => {
  test.each([
    ['an import of a higher module', 'src/model/a.ts', "import { b } from '#store/b'"],
    ['a type import of a higher module', 'src/model/a.ts', "import type { b } from '#runtime/b'"],
    ['a re-export of a higher module', 'src/events/a.ts', "export * from '#routes/b'"],
    ['a side-effect import of a higher module', 'src/events/a.ts', "import '#routes/b'"],
    ['a dynamic import of a higher module', 'src/store/a.ts', "const b = await import('#events/b')"],
    ['typeof import of a higher module', 'src/store/a.ts', "let b: typeof import('#events/b')"],
    ['an import over several lines', 'src/api/a.ts', "import {\n  b,\n  c,\n} from '#iam/b'"],
    ['an import by #src', 'src/model/a.ts', "import { b } from '#src/store/b'"],
    ['an import of #app', 'src/http/a.ts', "import type { Log } from '#app/log'"],
    ['another module by a relative path', 'src/http/a.ts', "import { b } from '../model/b'"],
    ['an import of a test', 'src/http/a.ts', "import { b } from '#test/b'"],
    ['an import of a bench', 'actors/device/a.ts', "import { b } from '../../bench/b.js'"],
    ['a package in the wrong module', 'src/events/a.ts', "import { App } from 'uWebSockets.js'"],
    ['a part of a package', 'src/http/a.ts', "import { pack } from 'msgpackr/pack'"],
    ['an unlisted package', 'src/model/a.ts', "import lodash from 'lodash'"],
    ['an unlisted scoped package', 'src/access/a.ts', "import { x } from '@a/b/c'"],
    ['the disk in the wrong module', 'actors/device/a.ts', "import { readFile } from 'node:fs/promises'"],
    ['a file in no module', 'src/other/a.ts', ''],
    ['the environment', 'src/app/config.ts', 'const port = process.env.PORT'],
    ['the time', 'src/app/main.ts', 'const now = Date.now()'],
    ['the time as a date', 'actors/tenant/a.ts', 'const now = new Date()'],
    ['the time as a text', 'actors/tenant/a.ts', 'const now = Date()'],
    ['the time of performance', 'src/link/a.ts', 'const now = performance.now()'],
    ['a timer', 'src/http/a.ts', 'setTimeout(run, 10)'],
    ['a timer in a template', 'src/http/a.ts', `const a = \`$\{setTimeout(run, 10)}\``],
    ['a timer after a string with slashes', 'src/http/a.ts', "f('http://a'); setImmediate(run)"],
    ['randomness', 'src/access/a.ts', 'const die = Math.random()'],
    ['cryptographic randomness', 'src/access/a.ts', "import { randomBytes } from 'node:crypto'"],
    ['a long file', 'src/store/a.ts', '\n'.repeat(401)],
    ['a meaningless name', 'src/store/key-utils.ts', ''],
    ['a meaningless folder name', 'test/helpers/start-server.ts', ''],
    ['a name in another case', 'src/store/keySpace.ts', ''],
    ['an unfinished part', 'bench/a.ts', '// TODO: later'],
    ['an exclusive test', 'test/a.test.ts', "test.only('a', () => {})"],
    ['a skipped suite', 'test/a.test.ts', "describe.skip('a', () => {})"],
    ['a skipped table of tests', 'test/a.test.ts', "test.skip.each([1])('a', () => {})"],
  ])('%s', (_, path, text) => {
    expect(faultsOf({ path, text })).toHaveLength(1)
  })

  test.each([
    ['its own module', 'src/store/a.ts', "import { b } from '#store/b'\nimport { c } from './c.js'"],
    ['a lower module', 'src/routes/a.ts', "import { b } from '#link/b'\nimport { c } from '#actors/device/c'"],
    ['all modules in main', 'src/app/main.ts', "import { b } from '#store/b'\nconst port = process.env.PORT"],
    [
      'the time in world.ts',
      'src/app/world.ts',
      "import type { World } from '#runtime/world'\nsetTimeout(f, Date.now())",
    ],
    ['a given time', 'src/model/a.ts', 'const date = new Date(at).toISOString()'],
    ['a comment', 'src/model/a.ts', "// not Date.now(), not import '#store/b'\n/* process.env */"],
    ['a hash', 'src/store/a.ts', "import { createHash } from 'node:crypto'"],
    ['a name that contains a meaningless word', 'src/model/base58.ts', ''],
    ['a conditional test', 'test/a.test.ts', "test.skipIf(isWindows)('a', () => context.skip('why'))"],
  ])('no fault is %s', (_, path, text) => {
    expect(faultsOf({ path, text })).toEqual([])
  })
})
