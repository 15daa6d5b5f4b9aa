import { defineRoute } from '#api/entry'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { matchesEtag } from '#http/etag'
import type { ForwardedRequest } from '#model/forwarded-request'
import { Problem } from '#model/problem'
import { chooseCoding } from '#routes/pages/content-coding'
import type { PageFile, PageFiles } from '#routes/pages/page-files'

const notBuilt = 'the pages were not built: npm run build'

/**
 * What stands at the root for people: the dashboard at `/`, the description of the API at `/docs`, and what they load. One
 * route for each file that was found at the start. Contract 8.
 */
export function pageRoutes(files: PageFiles): Binding[] {
  const paths = [...files.keys()].flatMap((name) => pathOf(name) ?? [])
  return [
    ...[...new Set(['/', '/docs', ...paths])].map((path) => pageRoute(path, fileAt(files, path))),
    // Its addresses are relative, so that they hold behind a proxy with a path of its own.
    pageRoute('/docs/', () => ({ status: 308, headers: { Location: '../docs' } })),
  ]
}

/** Where a file of the folder of pages is found by browsers; undefined for what they don't get this way. */
function pathOf(name: string): string | undefined {
  if (name === 'dashboard/index.html') return '/'
  if (name === 'docs/index.html') return '/docs'
  if (name.startsWith('dashboard/')) return name.slice('dashboard'.length)
  return name.startsWith('docs/') ? `/${name}` : undefined
}

function fileAt(files: PageFiles, path: string): (call: Call) => Reply {
  const name = [...files.keys()].find((candidate) => pathOf(candidate) === path)
  const file = name === undefined ? undefined : files.get(name)
  // Those have a hash of their content in their name.
  const isForGood = path.startsWith('/assets/')
  const caching = isForGood ? 'public, max-age=31536000, immutable' : 'no-cache'
  return (call) => fileReply(call, file, caching)
}

function pageRoute(path: string, answer: (call: Call) => Reply): Binding {
  const entry = defineRoute({
    name: 'readPage',
    method: 'GET',
    path,
    source: 'contract 8',
    summary: 'A page, or what one loads',
    access: 'none',
    answers: { 200: { description: 'The file' }, 304: { description: 'As it was' } },
    example: { status: 200 },
  })
  return bind(entry, answer)
}

/** A file in the best coding that the caller takes; `caching` is its `Cache-Control`. @throws Problem `not_found` when there is none */
export function fileReply(call: Call, file: PageFile | undefined, caching: string): Reply {
  if (!file) throw new Problem('not_found', notBuilt)
  const coding = chooseCoding(call.header('accept-encoding'), (candidate) => file.bytes.has(candidate))
  // Strong, so each coding has one of its own. RFC 9110 §8.8.3.3.
  const etag = `"${file.digest}${coding === 'identity' ? '' : `-${coding}`}"`
  const headers = {
    ...pageHeaders(call.forwarded),
    ETag: etag,
    'Cache-Control': caching,
    Vary: 'Accept-Encoding',
  }
  if (matchesEtag(call.header('if-none-match'), etag)) return { status: 304, headers }
  const bytes = file.bytes.get(coding) ?? noBytes
  return {
    status: 200,
    headers: {
      ...headers,
      'Content-Type': file.type,
      'Content-Length': String(bytes.byteLength),
      ...(coding !== 'identity' && { 'Content-Encoding': coding }),
    },
    chunks: once(bytes),
  }
}

const noBytes = new Uint8Array(0)

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/**
 * What pages are told about themselves: everything they need is here, nothing runs, and no style holds, that was not served as a file, nobody
 * frames them, and their addresses go to nobody else.
 */
function pageHeaders({ host }: Pick<ForwardedRequest, 'host'>): Record<string, string> {
  return {
    'Content-Security-Policy': policy(host),
    'Referrer-Policy': 'no-referrer',
    'Permissions-Policy':
      'camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), serial=(), usb=()',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

function policy(host: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "manifest-src 'self'",
    `connect-src 'self'${websocketsOf(host)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Browsers know themselves where a page came from, but not all take its websockets for the same place. */
function websocketsOf(host: string): string {
  return /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.test(host) ? ` ws://${host} wss://${host}` : ''
}
