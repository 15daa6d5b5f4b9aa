import * as api from '#api/updates'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { Problem } from '#model/problem'
import { type ByteRange, byteRangeOf } from '#routes/byte-range'
import type { RouteContext } from '#routes/context'
import { requireEmbeddedServer } from '#routes/embedded-projects'
import { matchesEtag } from '#routes/entity-tag'

/** Routes for firmware images. Contract 6. */
export function updateImageRoutes(context: RouteContext): Binding[] {
  return requireEmbeddedServer(context, [
    bind(api.readImage, (call) => read(context, call, call.parameters.sha256, call.query)),
  ])
}

async function read(
  { firmware: { images, imageUses, downloads, imageUrls }, world }: RouteContext,
  call: Call,
  sha256: string,
  signed: { readonly device: string; readonly exp: string; readonly sig: string },
): Promise<Reply> {
  if (!imageUrls.isValid(sha256, signed, world.now())) throw new Problem('forbidden')
  const size = imageUses.isLost(sha256) ? undefined : await images.sizeOf(sha256)
  if (size === undefined) throw new Problem('not_found')
  const etag = `"${sha256}"`
  const headers = { ETag: etag, 'Accept-Ranges': 'bytes' }
  if (matchesEtag(call.header('if-none-match'), etag)) return { status: 304, headers }
  const range = rangeOf(call, etag, size)
  if (range === 'unsatisfiable') return { status: 416, headers: { ...headers, 'Content-Range': `bytes */${size}` } }
  const { from, to } = range ?? { from: 0, to: size }
  return {
    status: range ? 206 : 200,
    headers: {
      ...headers,
      'Content-Type': 'application/octet-stream',
      'Content-Length': String(to - from),
      ...(range && { 'Content-Range': `bytes ${from}-${to - 1}/${size}` }),
    },
    chunks: await downloads.begin(sha256, from, to, call.signal, signed.device),
  }
}

/** If `If-Range` names another image, the whole image is sent; only GET supports ranges. RFC 9110 §13.1.5, §14.2. */
function rangeOf(call: Call, etag: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (call.target.method !== 'GET') return undefined
  const known = call.header('if-range')
  return known === '' || known === etag ? byteRangeOf(call.header('range'), size) : undefined
}
