import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Client } from 'undici'
import { afterAll, describe, expect, test } from 'vitest'
import { type Coding, chooseCoding, compressFiles, readPageFiles } from '#routes/pages/page-files'
import { pageRoutes } from '#routes/pages/page-routes'
import { openHttp } from '#test/http/http-fixture'

/** Pages over real sockets, from a folder with the layout of the build. */
const folder = mkdtempSync(join(tmpdir(), 'pages-'))
const script = `console.log(${JSON.stringify('a line of some length, again and again. '.repeat(4000))})\n`
const written: Readonly<Record<string, string | Buffer>> = {
  'dashboard/index.html': '<!doctype html><title>Dashboard</title>',
  'dashboard/favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'dashboard/assets/main-4f2a.js': script,
  'dashboard/assets/logo-77aa.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]),
  'dashboard/assets/main-4f2a.js.map': '{}',
  'docs/index.html': '<!doctype html><title>API</title>',
  'docs/viewer.css': 'body { margin: 0 }\n',
  'description/openapi.json': '{}',
}

for (const [name, content] of Object.entries(written)) {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), content)
}
await compressFiles(folder)
const http = await openHttp({ rootBindings: pageRoutes(await readPageFiles(folder)) })
const bare = await openHttp({ rootBindings: pageRoutes(await readPageFiles(join(folder, 'nowhere'))) })
afterAll(async () => {
  await Promise.all([http.server.close(), bare.server.close()])
  rmSync(folder, { recursive: true })
})

/** The path as it is, without encoding or decoding. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET', at = http) {
  const client = new Client(`http://127.0.0.1:${at.port}`)
  const answer = await client.request({ path, method: method as 'GET', headers })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  await client.close()
  return { ...answer, bytes }
}

describe('the files', () => {
  test.each([
    ['/', 'dashboard/index.html', 'text/html; charset=utf-8', 'no-cache'],
    ['/favicon.svg', 'dashboard/favicon.svg', 'image/svg+xml', 'no-cache'],
    [
      '/assets/main-4f2a.js',
      'dashboard/assets/main-4f2a.js',
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ],
    ['/assets/logo-77aa.png', 'dashboard/assets/logo-77aa.png', 'image/png', 'public, max-age=31536000, immutable'],
    ['/docs', 'docs/index.html', 'text/html; charset=utf-8', 'no-cache'],
    ['/docs/viewer.css', 'docs/viewer.css', 'text/css; charset=utf-8', 'no-cache'],
  ])('at %s are %s', async (path, name, type, caching) => {
    const { statusCode, headers, bytes } = await ask(path)
    expect([statusCode, bytes.equals(Buffer.from(written[name] ?? ''))]).toEqual([200, true])
    expect(headers).toMatchObject({
      'content-type': type,
      'cache-control': caching,
      'content-length': String(bytes.byteLength),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'permissions-policy': expect.stringContaining('camera=()'),
    })
    expect(headers['content-encoding']).toBeUndefined()
  })

  test.each([
    '/index.html',
    '/docs/index.html',
    '/dashboard/index.html',
    '/assets',
    '/assets/',
    '/assets/main-4f2a.js.br',
    '/assets/main-4f2a.js.map',
    '/assets/../assets/main-4f2a.js',
    '/assets/%2e%2e/index.html',
    '/assets//main-4f2a.js',
    '/description/openapi.json',
    '/docs/..%2f..%2fpackage.json',
    '/..%2f..%2f..%2fetc/passwd',
    '//',
    '/docs//',
  ])('at %s do not exist', async (path) => {
    expect((await ask(path)).statusCode).toBe(404)
  })

  test('at /docs/ redirect to /docs, also below the path of a proxy', async () => {
    const { statusCode, headers } = await ask('/docs/')
    expect([statusCode, headers.location]).toEqual([308, '../docs'])
  })
})

describe('compression', () => {
  const path = '/assets/main-4f2a.js'

  test.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ])('with %s sends the whole file in fewer bytes', async (coding, decompress) => {
    const { headers, bytes } = await ask(path, { 'accept-encoding': coding })
    expect(headers['content-encoding']).toBe(coding)
    expect([headers.vary].flat().join()).toContain('Accept-Encoding')
    expect(bytes.byteLength).toBeLessThan(script.length / 10)
    expect(decompress(bytes).toString()).toBe(script)
  })

  test('is not used for small files', async () => {
    const { headers } = await ask('/docs/viewer.css', { 'accept-encoding': 'br, gzip' })
    expect(headers['content-encoding']).toBeUndefined()
  })

  test('gives each coding its own entity tag', async () => {
    const tags = await Promise.all(
      ['', 'br', 'gzip'].map(async (coding) => (await ask(path, { 'accept-encoding': coding })).headers.etag),
    )
    expect(new Set(tags).size).toBe(3)
    const [, br] = tags as string[]
    const headers = { 'accept-encoding': 'br', 'if-none-match': `"x", W/${br}` }
    const again = await ask(path, headers)
    expect([again.statusCode, again.bytes.byteLength, again.headers.etag]).toEqual([304, 0, br])
    expect((await ask(path, { ...headers, 'accept-encoding': 'gzip' })).statusCode).toBe(200)
  })

  test('ignores a compressed file that is older than its source', async () => {
    const file = join(folder, 'dashboard/assets/late-1.js')
    writeFileSync(file, script)
    await compressFiles(folder)
    const first = (await readPageFiles(folder)).get('dashboard/assets/late-1.js')
    // Newer than its compressed files, also on a disk with a resolution of one second.
    const later = Date.now() / 1000 + 10
    writeFileSync(file, script.replaceAll('again', 'anew'))
    utimesSync(file, later, later)
    await compressFiles(folder)
    const second = (await readPageFiles(folder)).get('dashboard/assets/late-1.js')
    expect(second?.digest).not.toBe(first?.digest)
    expect(brotliDecompressSync(second?.bytes.get('br') ?? '').toString()).toContain('anew')
    rmSync(file)
    await compressFiles(folder)
    expect([...(await readPageFiles(folder)).keys()].filter((name) => name.includes('late'))).toEqual([])
  })
})

describe('methods', () => {
  test('HEAD returns the headers of GET', async () => {
    const { statusCode, headers, bytes } = await ask('/', {}, 'HEAD')
    expect([statusCode, headers['content-length'], bytes.byteLength]).toEqual([200, '39', 0])
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s is refused', async (method) => {
    for (const path of ['/', '/docs', '/assets/main-4f2a.js']) {
      const { statusCode, headers } = await ask(path, {}, method)
      expect([statusCode, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
    }
  })
})

describe('the content security policy', () => {
  test('allows no other origins, and connections only to the host of the request', async () => {
    const { headers } = await ask('/')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self';")
    expect(policy).toContain(
      `connect-src 'self' ws://127.0.0.1:${http.port} wss://127.0.0.1:${http.port}; base-uri 'none'`,
    )
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
  })

  test.each(['a;script-src *', 'a b', 'a,b', "'none'", '*'])('cannot be extended by a Host header %j', async (host) => {
    const { headers } = await ask('/', { host })
    expect(headers['content-security-policy']).toContain("connect-src 'self';")
  })
})

test('a server without a build answers with instructions', async () => {
  for (const path of ['/', '/docs']) {
    const { statusCode, bytes } = await ask(path, {}, 'GET', bare)
    expect([statusCode, JSON.parse(bytes.toString())]).toEqual([
      404,
      { error: expect.stringContaining('npm run build') },
    ])
  }
})

const all = () => true
const none = () => false

test.each<[header: string, chosen: Coding]>([
  ['', 'identity'],
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['GZIP;q=1.0, BR;q=0.1', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.0,gzip;q=0', 'identity'],
  ['*', 'br'],
  ['br;q=0, *', 'gzip'],
  ['*;q=0', 'identity'],
  ['identity;q=0', 'identity'],
  ['br;q=x', 'identity'],
  ['deflate', 'identity'],
  [' , ;q=1', 'identity'],
])('%j selects %s', (header, chosen) => {
  expect(chooseCoding(header, all)).toBe(chosen)
  expect(chooseCoding(header, none)).toBe('identity')
})

test('a missing file is not selected', () => {
  expect(chooseCoding('br, gzip', (coding) => coding !== 'br')).toBe('gzip')
})
