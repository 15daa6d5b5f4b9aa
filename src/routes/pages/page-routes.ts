import { defineRoute } from '#api/route-entry'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import type { ForwardedRequest } from '#model/forwarded-request'
import { Problem } from '#model/problem'
import { chooseCoding, type PageFile, type PageFiles } from '#routes/pages/page-files'
import { matchesEtag } from '#routes/replies'

const notBuilt = 'the pages were not built: npm run build'

/**
 * Pages outside `/api/v1`: the dashboard at `/`, the API description at `/docs`, and their files. One route for each
 * file found when the server starts. Contract 8.
 */
export function pageRoutes(files: PageFiles): Binding[] {
  const paths = [...files.keys()].flatMap((name) => pathOf(name) ?? [])
  return [
    ...[...new Set(['/', '/docs', ...paths])].map((path) => pageRoute(path, fileAt(files, path))),
    // Relative, so that it works behind a proxy with a path prefix.
    pageRoute('/docs/', () => ({ status: 308, headers: { Location: '../docs' } })),
  ]
}

/** The URL path of a file in the pages folder; undefined for files that have another route. */
function pathOf(name: string): string | undefined {
  if (name === 'dashboard/index.html') return '/'
  if (name === 'docs/index.html') return '/docs'
  if (name.startsWith('dashboard/')) return name.slice('dashboard'.length)
  return name.startsWith('docs/') ? `/${name}` : undefined
}

function fileAt(files: PageFiles, path: string): (call: Call) => Reply {
  const name = [...files.keys()].find((candidate) => pathOf(candidate) === path)
  const file = name === undefined ? undefined : files.get(name)
  // These names contain a hash of the content.
  const isForGood = path.startsWith('/assets/')
  const caching = isForGood ? 'public, max-age=31536000, immutable' : 'no-cache'
  return (call) => fileReply(call, file, caching)
}

function pageRoute(path: string, answer: (call: Call) => Reply): Binding {
  const entry = defineRoute('readPage', {
    route: `GET ${path}`,
    source: 'contract 8',
    summary: 'A page or one of its files',
    access: 'none',
    answers: { 200: { description: 'The file' }, 304: { description: 'Not modified' } },
    example: { status: 200 },
  })
  return bind(entry, answer)
}

/**
 * A file in the best coding that the caller accepts; `caching` is its `Cache-Control`. @throws Problem `not_found` if
 * there is no file
 */
export function fileReply(call: Call, file: PageFile | undefined, caching: string): Reply {
  if (!file) throw new Problem('not_found', notBuilt)
  const coding = chooseCoding(call.header('accept-encoding'), (candidate) => file.bytes.has(candidate))
  // Strong, so each coding has its own tag. RFC 9110 §8.8.3.3.
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
 * Security headers of pages: scripts and styles come from files of this server only, no site may frame a page, and no
 * referrer is sent.
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

/** Not all browsers count a page's websockets as the same origin. */
function websocketsOf(host: string): string {
  return /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/.test(host) ? ` ws://${host} wss://${host}` : ''
}
