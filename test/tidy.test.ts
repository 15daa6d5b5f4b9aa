import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

/** What each room may import, besides itself. ARCHITECTURE.md says why; the two change together. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  'src/model': [],
  'src/runtime': ['src/model'],
  'src/api': ['src/model', 'src/runtime'],
  'src/rules': ['src/model'],
  'src/events': ['src/model', 'src/runtime'],
  'src/store': ['src/model', 'src/runtime'],
  actors: ['src/model', 'src/runtime', 'src/rules'],
  'src/http': ['src/model', 'src/runtime', 'src/api'],
  'src/access': ['src/model', 'src/runtime', 'src/api', 'src/events', 'src/http', 'actors'],
  'src/link': ['src/model', 'src/runtime', 'src/http', 'src/access', 'actors'],
  'src/workers': ['src/model', 'src/runtime', 'src/rules', 'src/link', 'actors'],
  'src/firmware': ['src/model', 'src/runtime', 'src/link', 'src/workers', 'actors'],
  'src/notifications': ['src/model', 'src/runtime', 'src/rules', 'src/workers', 'actors'],
  'src/routes': [
    'src/model',
    'src/runtime',
    'src/api',
    'src/rules',
    'src/events',
    'src/http',
    'src/access',
    'src/link',
    'src/workers',
    'src/firmware',
    'src/notifications',
    'actors',
  ],
  'src/client': ['src/model', 'src/api'],
  'src/dashboard': ['src/model', 'src/client'],
  'src/app': ['*'],
  'src/cli': ['*'],
}

/** Through which rooms, or single files, a package or a part of Node comes in. Packages not named here have no door. */
const doors: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['src/http'],
  level: ['src/store'],
  'classic-level': ['src/store'],
  'abstract-level': ['src/store'],
  msgpackr: ['src/store', 'src/link'],
  xstate: ['actors'],
  'json-logic-engine': ['src/rules'],
  semver: ['src/model/firmware-order'],
  mustache: ['src/model/mustache'],
  nodemailer: ['src/notifications'],
  croner: ['src/firmware/schedule'],
  '@node-rs/argon2': ['src/access'],
  jose: ['src/access'],
  otpauth: ['src/access'],
  '@simplewebauthn/server': ['src/access'],
  '@simplewebauthn/browser': ['src/dashboard'],
  preact: ['src/dashboard'],
  '@preact/signals': ['src/dashboard'],
  'wouter-preact': ['src/dashboard'],
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
    'src/access/argon2',
    'src/client/package/vite.config',
  ],
  'node:fs/promises': [
    'src/store',
    'src/notifications',
    'src/routes/pages',
    'src/cli',
    'src/app/main',
    'src/app/metrics/process-figures',
    'src/routes/health',
  ],
  'node:http': ['src/firmware/get-json', 'src/http', 'src/cli/exchange'],
  'node:https': ['src/firmware/get-json', 'src/cli/exchange'],
  'node:net': ['src/notifications', 'src/http', 'src/cli'],
  'node:tls': ['src/notifications'],
  'node:dns': ['src/notifications'],
  'node:timers': ['src/app/world'],
  'node:timers/promises': ['src/app/world'],
  'node:perf_hooks': ['src/app/world', 'src/app/metrics/process-figures'],
  'prom-client': ['src/app/metrics/metrics'],
  'node:worker_threads': [],
  // One process, below all others.
  'node:child_process': ['src/access/argon2'],
  'node:cluster': [],
  'node:*': ['*'],
}

/** What reads the world by itself, and the only files that may. */
const worldly: readonly { readonly what: string; readonly pattern: RegExp; readonly door: readonly string[] }[] = [
  {
    what: 'the environment',
    pattern: /\bprocess\s*\.\s*env\b|\bimport\.meta\.env\b/,
    door: ['src/app/main.ts', 'src/cli/main.ts', 'src/cli/doctor/main.ts'],
  },
  {
    what: 'the time',
    pattern: /\bDate\s*\.\s*now\b|\bnew Date\b\s*(\(\s*\)|[^\s(])|(?<!new )\bDate\(|\bperformance\s*\.|\bhrtime\b/,
    door: ['src/app/world.ts', 'src/client/platform.ts', 'src/dashboard/world.ts'],
  },
  {
    what: 'a timer',
    pattern: /\bset(Timeout|Interval|Immediate)\b|\bAbortSignal\s*\.\s*timeout\b/,
    door: ['src/app/world.ts', 'src/client/platform.ts', 'src/dashboard/world.ts'],
  },
  {
    what: 'chance',
    pattern: /\bMath\s*\.\s*random\b|\brandom(Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/,
    door: ['src/app/world.ts', 'src/client/platform.ts'],
  },
]

/** Plain JavaScript in front of everything else: it follows no rule of the rooms. */
const launchers = ['src/launch.cjs']

const linesMax = 400
const emptyWords = /^(managers?|helpers?|utils?|utilities|common|base|misc|engines?|constants?|types)$/
const fileName = /^[a-z0-9]+(-[a-z0-9]+)*(\.slow)?(\.test|\.config)?\.(ts|tsx|mts|cjs|mjs)$/
const leftUndone = /\b(TODO|FIXME|XXX)\b/
// Not what a running test decides for itself, with a reason: `context.skip('needs root')`.
const leftOut = /\b(test|it|describe|suite)(\.\w+)*\.(skip|only|todo)\b|\b[xf](it|describe)\s*\(/

interface Source {
  readonly path: string
  readonly text: string
}

/** Everything that is wrong with one file, a line each. */
function faultsOf(source: Source): string[] {
  const isInRooms = /^(src|actors)\//.test(source.path) && !launchers.includes(source.path)
  const rules = isInRooms ? [importFaults, worldlyFaults, nameFaults, sizeFaults, wordFaults] : [nameFaults, wordFaults]
  return rules.flatMap((rule) => rule(source)).map((fault) => `${source.path}: ${fault}`)
}

function importFaults({ path, text }: Source): string[] {
  const room = roomOf(path)
  if (!room) return ['stands in no room']
  return importsOf(text).flatMap((specifier) => {
    if (!/^[.#]/.test(specifier))
      return mayPass(path, specifier) ? [] : [`${specifier} does not come in through ${room}`]
    const target = resolve(path, specifier)
    const targetRoom = target && roomOf(target)
    if (!targetRoom) return [`${specifier} leads to no room`]
    if (targetRoom === room) return []
    if (specifier.startsWith('.')) return [`${specifier} crosses into ${targetRoom}: import it by its #name`]
    const allowed = rooms[room] ?? []
    return allowed.includes('*') || allowed.includes(targetRoom) ? [] : [`${room} may not import ${specifier}`]
  })
}

function mayPass(path: string, specifier: string): boolean {
  const name = specifier.startsWith('node:')
    ? specifier
    : specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  const door = doors[name] ?? (name.startsWith('node:') ? doors['node:*'] : undefined)
  return (
    door !== undefined &&
    (door.includes('*') || door.some((each) => path.replace(/\.tsx?$/, '') === each || path.startsWith(`${each}/`)))
  )
}

function worldlyFaults({ path, text }: Source): string[] {
  const code = withoutComments(text)
  return worldly
    .filter(({ pattern, door }) => !door.includes(path) && pattern.test(code))
    .map(({ what, pattern, door }) => `${pattern.exec(code)?.[0]}: ${what} comes in by ${door.join()} alone`)
}

function nameFaults({ path }: Source): string[] {
  const parts = path.replace(/\.[a-z.]+$/, '').split(/[/-]/)
  const faults = parts.filter((part) => emptyWords.test(part)).map((part) => `"${part}" says nothing`)
  return fileName.test(posix.basename(path)) ? faults : [...faults, 'is not named in kebab-case']
}

function sizeFaults({ text }: Source): string[] {
  const count = text.split('\n').length - 1
  return count > linesMax ? [`${count} lines, ${linesMax} at most`] : []
}

function wordFaults({ path, text }: Source): string[] {
  const words = [leftUndone.exec(text)?.[0], path.startsWith('test/') ? leftOut.exec(text)?.[0] : undefined]
  return words.filter((word) => word !== undefined).map((word) => `says ${word}`)
}

function roomOf(path: string): string | undefined {
  return Object.keys(rooms).find((room) => path.startsWith(`${room}/`) || path === `${room}.ts`)
}

/** What is imported, exported from, imported dynamically or as a type. */
function importsOf(text: string): string[] {
  const patterns = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"`])([^'"`\n]+)\1/g
  return [...withoutComments(text).matchAll(patterns)].map((match) => match[2] ?? '')
}

/** Where a specifier leads, as a path from the root. */
function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts')
  for (const [alias, { source }] of Object.entries(aliases)) {
    const start = alias.slice(0, -1)
    if (specifier.startsWith(start)) return posix.normalize(source.replace('*', specifier.slice(start.length)))
  }
  return undefined
}

/** Strings are kept, so that a comment inside one is none. */
function withoutComments(text: string): string {
  const token = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g
  return text.replace(token, (found) => (found.startsWith('/') ? ' ' : found))
}

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const aliases: Record<string, { source: string }> = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).imports
// This file holds the forbidden words as data.
const sources = ['src', 'actors', 'bench', 'test'].flatMap(sourcesIn).filter(({ path }) => path !== 'test/tidy.test.ts')

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

test.each(sources.map((source) => [source.path, source] as const))('%s is tidy', (_, source) => {
  expect(faultsOf(source)).toEqual([])
})

test('there is something to look at', () => {
  expect(sources.length).toBeGreaterThan(50)
})

test('every room stands above what it imports', () => {
  const seen = new Set<string>()
  const visit = (room: string, above: readonly string[]) => {
    expect(above, [...above, room].join(' → ')).not.toContain(room)
    if (seen.has(room)) return
    for (const below of rooms[room] ?? []) if (below !== '*') visit(below, [...above, room])
    seen.add(room)
  }
  for (const room of Object.keys(rooms)) visit(room, [])
})

describe('the rules find', () => {
  test.each([
    ['a room above', 'src/model/a.ts', "import { b } from '#store/b'"],
    ['a room above, as a type', 'src/model/a.ts', "import type { b } from '#runtime/b'"],
    ['a room above, exported', 'src/events/a.ts', "export * from '#routes/b'"],
    ['a room above, for its effects', 'src/events/a.ts', "import '#routes/b'"],
    ['a room above, dynamically', 'src/store/a.ts', "const b = await import('#events/b')"],
    ['a room above, by typeof', 'src/store/a.ts', "let b: typeof import('#events/b')"],
    ['a room above, over several lines', 'src/api/a.ts', "import {\n  b,\n  c,\n} from '#iam/b'"],
    ['a room above, by the way round', 'src/model/a.ts', "import { b } from '#src/store/b'"],
    ['a file of the top', 'src/http/a.ts', "import type { Log } from '#app/log'"],
    ['a room beside, by a relative path', 'src/http/a.ts', "import { b } from '../model/b'"],
    ['a test', 'src/http/a.ts', "import { b } from '#test/b'"],
    ['a bench', 'actors/device/a.ts', "import { b } from '../../bench/b.js'"],
    ['a package through the wrong door', 'src/events/a.ts', "import { App } from 'uWebSockets.js'"],
    ['a part of a package', 'src/http/a.ts', "import { pack } from 'msgpackr/pack'"],
    ['a package without a door', 'src/model/a.ts', "import lodash from 'lodash'"],
    ['a scoped package without a door', 'src/access/a.ts', "import { x } from '@a/b/c'"],
    ['the disk through the wrong door', 'actors/device/a.ts', "import { readFile } from 'node:fs/promises'"],
    ['a file in no room', 'src/other/a.ts', ''],
    ['the environment', 'src/app/config.ts', 'const port = process.env.PORT'],
    ['the time', 'src/app/main.ts', 'const now = Date.now()'],
    ['the time as a date', 'actors/tenant/a.ts', 'const now = new Date()'],
    ['the time as a text', 'actors/tenant/a.ts', 'const now = Date()'],
    ['the time by another clock', 'src/link/a.ts', 'const now = performance.now()'],
    ['a timer', 'src/http/a.ts', 'setTimeout(run, 10)'],
    ['a timer in a template', 'src/http/a.ts', `const a = \`$\{setTimeout(run, 10)}\``],
    ['a timer behind a string with slashes', 'src/http/a.ts', "f('http://a'); setImmediate(run)"],
    ['chance', 'src/access/a.ts', 'const die = Math.random()'],
    ['strong chance', 'src/access/a.ts', "import { randomBytes } from 'node:crypto'"],
    ['a long file', 'src/store/a.ts', '\n'.repeat(401)],
    ['an empty name', 'src/store/key-utils.ts', ''],
    ['an empty folder name', 'test/helpers/start-server.ts', ''],
    ['a name in another case', 'src/store/keySpace.ts', ''],
    ['something left undone', 'bench/a.ts', '// TODO: later'],
    ['a test that stands alone', 'test/a.test.ts', "test.only('a', () => {})"],
    ['a test left out', 'test/a.test.ts', "describe.skip('a', () => {})"],
    ['a table of tests left out', 'test/a.test.ts', "test.skip.each([1])('a', () => {})"],
  ])('%s', (_, path, text) => {
    expect(faultsOf({ path, text })).toHaveLength(1)
  })

  test.each([
    ['its own room', 'src/store/a.ts', "import { b } from '#store/b'\nimport { c } from './c.js'"],
    ['a room below', 'src/routes/a.ts', "import { b } from '#link/b'\nimport { c } from '#actors/device/c'"],
    ['everything in main', 'src/app/main.ts', "import { b } from '#store/b'\nconst port = process.env.PORT"],
    [
      'the door to the world',
      'src/app/world.ts',
      "import type { World } from '#runtime/world'\nsetTimeout(f, Date.now())",
    ],
    ['a given time', 'src/model/a.ts', 'const date = new Date(at).toISOString()'],
    ['a comment', 'src/model/a.ts', "// not Date.now(), not import '#store/b'\n/* process.env */"],
    ['a hash', 'src/store/a.ts', "import { createHash } from 'node:crypto'"],
    ['a word that holds another', 'src/model/base58.ts', ''],
    ['a test that needs a condition', 'test/a.test.ts', "test.skipIf(isWindows)('a', () => context.skip('why'))"],
  ])('nothing wrong in %s', (_, path, text) => {
    expect(faultsOf({ path, text })).toEqual([])
  })
})
