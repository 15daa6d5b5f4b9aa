import { type PutReleaseAnswer, projectAddress } from '#actors/project/state'
import * as api from '#api/update-projects'
import { readImage } from '#api/updates'
import { partNameOf } from '#firmware/image-uses'
import { checkPut, putAction } from '#http/authentication'
import { type Binding, type BodyStream, bind, type Call, type Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { byPrecedence, type ReleaseKey, releaseEntryOf, releaseName, type StoredRelease } from '#model/release'
import type { RouteContext } from '#routes/context'
import { matchesEtag, textReply } from '#routes/replies'
import { checkProjectLimit, existingProject, mustReachAll, requireEmbeddedServer } from '#routes/update-projects'
import type { BlobImage } from '#runtime/blobs'
import { ConcurrencyLimit } from '#runtime/fair-queue'

/** Shares of the 64 concurrent uploads that the image store allows. */
const uploadLimits = { things: 'uploads', perUserMax: 8, perTenantMax: 32 }

/** Routes for firmware releases and their images. Contract 6. */
export function releaseRoutes(context: RouteContext): Binding[] {
  const uploads = new ConcurrencyLimit(uploadLimits)
  return requireEmbeddedServer(context, [
    bind(api.listReleases, ({ caller, parameters: { project } }) => {
      const { releases } = existingProject(context, caller.tenant, project)
      return textReply(context, JSON.stringify([...releases.values()].sort(inOrder).map(releaseEntryOf)))
    }),

    bind(api.readRelease, ({ caller, parameters: { project, firmware }, query }) => {
      const release = existingRelease(context, caller, project, releaseKeyOf(firmware, query))
      return textReply(context, JSON.stringify(releaseEntryOf(release)))
    }),

    bind(api.putRelease, async (call) => {
      uploads.check(call.caller)
      uploads.enter(call.caller)
      try {
        return await upload(context, call, releaseKeyOf(call.parameters.firmware, call.query))
      } finally {
        uploads.leave(call.caller)
      }
    }),

    bind(api.deleteRelease, async ({ caller, parameters: { project, firmware }, query }) => {
      mustReachAll(caller, 'delete')
      const key = releaseKeyOf(firmware, query)
      const { size } = existingRelease(context, caller, project, key)
      // A killed server may have left parts of the image. With them, a later upload would create the release again.
      await context.firmware.images.discard(partNameOf(context.system, caller.tenant, project, releaseName(key), size))
      await context.system.ask(projectAddress(caller.tenant, project), { type: 'delete_release', key })
      return { status: 204 }
    }),

    bind(readImage, (call) => sendImage(context, call, call.parameters.sha256, call.query)),
  ])
}

function releaseKeyOf(firmware: string, { hardware, index = 0 }: api.ReleaseQuery): ReleaseKey {
  return { firmware, hardware: hardware ?? null, index }
}

/** @throws Problem `not_found` */
function existingRelease(context: RouteContext, { tenant }: Caller, project: string, key: ReleaseKey): StoredRelease {
  const release = context.system.peek(projectAddress(tenant, project)).releases.get(releaseName(key))
  if (!release) throw new Problem('not_found')
  return release
}

/** By index, then by hardware (first the releases for any hardware), then by precedence. */
function inOrder(one: StoredRelease, next: StoredRelease): number {
  const byHardware = () => byText(one.hardware ?? '', next.hardware ?? '')
  const byFirmware = () => byPrecedence(one.firmware, next.firmware) || byText(one.firmware, next.firmware)
  return one.index - next.index || byHardware() || byFirmware()
}

function byText(one: string, next: string): number {
  return one === next ? 0 : one < next ? -1 : 1
}

type UploadCall = Call<{ readonly project: string; readonly firmware: string }, api.UploadQuery>

/**
 * Receives the image of a release, whole or in part. A release is created when its image is stored durably. It never
 * changes: an upload of the same image succeeds again, any other image is refused. Contract 6.
 */
async function upload(context: RouteContext, call: UploadCall, key: ReleaseKey): Promise<Reply> {
  const { caller, upload: body } = call
  const { tenant } = caller
  const { project } = call.parameters
  if (!body) throw new Error('an upload has no body stream')
  mustBePlain(call)
  await checkProjectLimit(context, caller, project)
  const before = releaseOf(context, tenant, project, key)
  checkUpload(caller, before)
  const range = rangeOf(call)
  checkSize(context, range ? range.size : body.lengthBytes, before)
  const name = partNameOf(context.system, tenant, project, releaseName(key), range ? range.size : body.lengthBytes)
  if (range?.part === null) {
    if (before && (call.query.sha256 ?? before.sha256) !== before.sha256) throw otherImage()
    // A lost image can be uploaded again.
    const isComplete = before !== undefined && (await context.firmware.images.sizeOf(before.sha256)) === before.size
    const received = isComplete ? range.size : await context.firmware.images.receivedOf(name)
    if (isComplete || received !== range.size) return uploadProgress(body, received, range.size)
    // All bytes are stored, but the request with the last byte could not create the release. Nothing is left to send,
    // and this request creates it.
  }
  const from = range ? (range.part?.from ?? range.size) : 0
  const size = range ? range.size : (body.lengthBytes ?? null)
  let reply: Reply | undefined
  const upload = await context.firmware.images.receive(
    name,
    { from, size },
    checked(context, call, body, range, key),
    async (image) => {
      reply = await createRelease(context, call, key, image)
    },
  )
  return reply ?? { status: 202, json: { received: upload.received, size } }
}

/**
 * Answers with the number of bytes received so far. If the release exists with its image, all bytes were received, and
 * the answer to the upload may have been lost.
 */
async function uploadProgress(body: BodyStream, received: number, size: number): Promise<Reply> {
  for await (const piece of body)
    if (piece.byteLength > 0) throw new Problem('bad_request', 'the body must be empty: Content-Range names no bytes')
  return { status: 202, json: { received, size } }
}

/** @throws Problem `bad_request` for an invalid `Content-Range` */
function rangeOf(call: Call): ContentRange | undefined {
  const header = call.header('content-range')
  if (header === '') return undefined
  const range = contentRangeOf(header)
  if (!range) throw new Problem('bad_request', 'Content-Range must be bytes <first>-<last>/<size> or bytes */<size>')
  const length = call.upload?.lengthBytes
  if (length !== undefined && length !== lengthOf(range)) {
    throw new Problem('bad_request', 'Content-Range does not match the length of the body')
  }
  return range
}

/** Length of the request's body. */
function lengthOf({ part }: ContentRange): number {
  return part ? part.to - part.from : 0
}

/** Refuses a content coding: an image consists of exactly the bytes that a device installs. RFC 9110 §8.4. */
function mustBePlain(call: UploadCall): void {
  if (!/^(identity)?$/i.test(call.header('content-encoding'))) throw new Problem('unsupported_media_type')
}

/** Checks that are possible before the body is read. @throws Problem `bad_request`, `too_large`, `conflict` */
function checkSize(
  { firmware: { imageBytesMax } }: RouteContext,
  size: number | undefined,
  before: StoredRelease | undefined,
): void {
  if (size === undefined) return
  if (size === 0) throw emptyImage()
  if (size > imageBytesMax) throw new Problem('too_large', `the image is larger than ${imageBytesMax} bytes`)
  if (before && before.size !== size) throw otherImage()
}

/** The pieces of a body as received. After the last piece, the body as a whole is checked. */
async function* checked(
  context: RouteContext,
  call: UploadCall,
  body: BodyStream,
  range: ContentRange | undefined,
  key: ReleaseKey,
): AsyncGenerator<Uint8Array> {
  const left = range && lengthOf(range)
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.byteLength
    if (left !== undefined && bytes > left) break
    yield piece
  }
  if (left !== undefined && bytes !== left) {
    throw new Problem('bad_request', 'Content-Range does not match the length of the body')
  }
  if (bytes === 0 && !range) throw emptyImage()
  const caller = body.stillPermitted()
  checkUpload(caller, releaseOf(context, caller.tenant, call.parameters.project, key))
}

/** Creates the release of an image that is stored durably. */
function createRelease(
  context: RouteContext,
  { caller: { tenant, user }, parameters: { project }, query }: UploadCall,
  key: ReleaseKey,
  { sha256, size }: BlobImage,
): Promise<Reply> {
  return context.firmware.imageUses.keepWhile(sha256, async () => {
    if (query.sha256 !== undefined && query.sha256 !== sha256) {
      throw new Problem('bad_request', `the SHA-256 of the image is ${sha256}`)
    }
    const stored: StoredRelease = { ...key, sha256, size, createdAt: context.world.now(), createdBy: user }
    const put = await context.system.ask(projectAddress(tenant, project), { type: 'put_release', release: stored })
    const { isNew, release } = put as PutReleaseAnswer
    const json = releaseEntryOf(release)
    return isNew ? { status: 201, headers: { Location: locationOf(project, key) }, json } : { status: 200, json }
  })
}

function locationOf(project: string, { firmware, hardware, index }: ReleaseKey): string {
  const query = new URLSearchParams({ ...(hardware !== null && { hardware }), ...(index > 0 && { index: `${index}` }) })
  const path = `/api/v1/updates/projects/${project}/releases/${encodeURIComponent(firmware)}`
  return query.size > 0 ? `${path}?${query}` : path
}

function releaseOf(context: RouteContext, tenant: string, project: string, key: ReleaseKey): StoredRelease | undefined {
  return context.system.peek(projectAddress(tenant, project)).releases.get(releaseName(key))
}

/** @throws Problem `forbidden` */
function checkUpload(caller: Caller, before: StoredRelease | undefined): void {
  checkPut(caller, 'updates', before !== undefined)
  mustReachAll(caller, putAction(before !== undefined))
}

function emptyImage(): Problem {
  return new Problem('bad_request', 'the image is empty')
}

function otherImage(): Problem {
  return new Problem('conflict', 'the release exists with another image')
}

async function sendImage(
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
  const range = requestedRange(call, etag, size)
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
function requestedRange(call: Call, etag: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (call.target.method !== 'GET') return undefined
  const known = call.header('if-range')
  return known === '' || known === etag ? byteRangeOf(call.header('range'), size) : undefined
}

/**
 * A part of content, in bytes: the byte at `from` is the first one, the byte at `to` is the first one after the part.
 */
export interface ByteRange {
  readonly from: number
  readonly to: number
}

/**
 * The single range of a `Range` header for content of this size; undefined for the whole: no header, several ranges, an
 * unknown unit, or an invalid range. RFC 9110 §14.1.2, §14.2.
 */
export function byteRangeOf(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { from: size - length, to: size }
  }
  const from = Number(first)
  const to = last === '' ? size : Math.min(Number(last) + 1, size)
  if (last !== '' && Number(last) < from) return undefined
  return from < size ? { from, to } : 'unsatisfiable'
}

/** Position of an uploaded part; `null` asks how much is stored. RFC 9110 §14.4. */
export interface ContentRange {
  readonly part: ByteRange | null
  /** Size of the whole. */
  readonly size: number
}

/** Undefined for an invalid header, and for a whole of unknown length. */
export function contentRangeOf(header: string): ContentRange | undefined {
  const [, first, last, whole] = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/i.exec(header) ?? []
  if (whole === undefined) return undefined
  const size = Number(whole)
  if (first === undefined || last === undefined) return { part: null, size }
  const part = { from: Number(first), to: Number(last) + 1 }
  return part.from < part.to && part.to <= size ? { part, size } : undefined
}
