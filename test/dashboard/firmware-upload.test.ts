import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Problem } from '#client/problem'
import { type PartAnswer, partBytes, type UploadEnvironment, uploadImage } from '#dashboard/pages/firmware/image-upload'

/** Uploads an image in parts over connections that break, to a model of the server from docs/api.md. Contract 6. */

const release = { firmware: '1.5.0', index: 0, sha256: 'f'.repeat(64), size: 1, createdAt: 1, createdBy: 'crn#user:a' }

type Fault = 'request lost' | 'answer lost' | 'connection broken' | 'busy' | 'being uploaded already'

/** Receives parts as the server does, but fails once for each planned fault. */
class PartReceiver {
  bytes = Buffer.alloc(0)
  isStored = false
  readonly sent: string[] = []
  readonly faults: (Fault | undefined)[]

  constructor(faults: readonly (Fault | undefined)[] = []) {
    this.faults = [...faults]
  }

  async take(contentRange: string, part: Blob): Promise<PartAnswer> {
    this.sent.push(contentRange)
    const fault = this.faults.shift()
    if (fault === 'request lost') throw new TypeError('Failed to fetch')
    if (fault === 'busy') return { status: 503, body: { error: 'OVERLOADED' } }
    if (fault === 'being uploaded already') {
      return { status: 409, body: { error: 'this image is already being uploaded' } }
    }
    const piece = await content(part)
    if (fault === 'connection broken') {
      this.#append(contentRange, piece.subarray(0, Math.floor(piece.length / 2)))
      throw new TypeError('Failed to fetch')
    }
    const answer = this.#append(contentRange, piece)
    if (fault === 'answer lost') throw new TypeError('Failed to fetch')
    return answer
  }

  #append(contentRange: string, piece: Buffer): PartAnswer {
    const [, range = '', size = ''] = /^bytes ([^/]+)\/(\d+)$/.exec(contentRange) ?? []
    const isAsked = range === '*'
    if (this.isStored && !isAsked) return { status: 200, body: release }
    if (!isAsked) {
      const from = Number(range.split('-')[0])
      if (from === 0) this.bytes = Buffer.alloc(0)
      if (from !== this.bytes.length) {
        return { status: 409, body: { error: `bytes from ${this.bytes.length} are expected` } }
      }
      this.bytes = Buffer.concat([this.bytes, piece])
      if (this.bytes.length === Number(size)) {
        this.isStored = true
        return { status: 201, body: release }
      }
    }
    return { status: 202, body: { received: this.bytes.length, size: Number(size) } }
  }
}

function environmentOf(receiver: Pick<PartReceiver, 'take'>, more: Partial<UploadEnvironment> = {}) {
  const seen = { received: [] as number[], pauses: [] as string[], waits: [] as number[] }
  const environment: UploadEnvironment = {
    send: (range, part) => receiver.take(range, part),
    wait: async (ms) => void seen.waits.push(ms),
    onReceived: (bytes) => void seen.received.push(bytes),
    onPause: (why) => void seen.pauses.push(why),
    signal: new AbortController().signal,
    ...more,
  }
  return { environment, seen }
}

/** Answers each part by its `Content-Range`, and notes these. */
function answering(answerOf: (range: string) => PartAnswer) {
  const sent: string[] = []
  const take = async (range: string) => {
    sent.push(range)
    return answerOf(range)
  }
  return { sent, environment: environmentOf({ take }).environment }
}

const imageOf = (bytes: number) => new Blob([Uint8Array.from({ length: bytes }, (_, place) => place % 251)])
const content = async (image: Blob) => Buffer.from(await image.arrayBuffer())

test('an upload asks for the received size, sends parts, and reports progress', async () => {
  const image = imageOf(2 * partBytes + 7)
  const receiver = new PartReceiver()
  const { environment, seen } = environmentOf(receiver)
  await uploadImage(image, environment)
  expect(receiver.isStored).toBe(true)
  expect(receiver.sent).toEqual([
    `bytes */${image.size}`,
    `bytes 0-${partBytes - 1}/${image.size}`,
    `bytes ${partBytes}-${2 * partBytes - 1}/${image.size}`,
    `bytes ${2 * partBytes}-${image.size - 1}/${image.size}`,
  ])
  expect(receiver.bytes.equals(await content(image))).toBe(true)
  expect(seen.received).toEqual([0, partBytes, 2 * partBytes, image.size])
})

test('an upload continues an earlier one, and sends nothing if all bytes were received', async () => {
  const image = imageOf(partBytes + 3)
  const receiver = new PartReceiver()
  receiver.bytes = (await content(image)).subarray(0, 10)
  await uploadImage(image, environmentOf(receiver).environment)
  expect(receiver.isStored).toBe(true)
  expect(receiver.sent[1]).toBe(`bytes 10-${partBytes + 9 < image.size ? partBytes + 9 : image.size - 1}/${image.size}`)
  const { sent, environment } = answering(() => ({ status: 202, body: { received: image.size, size: image.size } }))
  await uploadImage(image, environment)
  expect(sent).toEqual([`bytes */${image.size}`])
})

test('the received image is the sent image after any faults', async () => {
  const faults: readonly Fault[] = [
    'request lost',
    'answer lost',
    'connection broken',
    'busy',
    'being uploaded already',
  ]
  const image = imageOf(3 * partBytes + 11)
  const whole = await content(image)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fc.constantFrom(...faults), { nil: undefined }), { maxLength: 7 }),
      async (planned) => {
        const receiver = new PartReceiver(planned)
        await uploadImage(image, environmentOf(receiver).environment)
        expect(receiver.isStored).toBe(true)
        expect(receiver.bytes.equals(whole)).toBe(true)
      },
    ),
    { numRuns: 40 },
  )
})

test('an upload fails after eight failures in a row with growing pauses', async () => {
  const { environment, seen } = environmentOf(new PartReceiver(Array.from({ length: 20 }, () => 'busy' as const)))
  await expect(uploadImage(imageOf(9), environment)).rejects.toThrow('OVERLOADED')
  expect(seen.waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000])
  expect(seen.pauses).toHaveLength(7)
})

test('an upload fails if the received size does not grow', async () => {
  const { sent, environment } = answering((range) => {
    return { status: range.includes('*') ? 202 : 503, body: { received: 0, error: 'STORAGE' } }
  })
  await expect(uploadImage(imageOf(9), environment)).rejects.toThrow('STORAGE')
  expect(sent.filter((range) => range === 'bytes 0-8/9')).toHaveLength(8)
})

test.each([
  [409, { error: 'the release exists with another image' }, 'the release exists with another image'],
  [413, { error: 'the image is larger than 9 bytes' }, 'the image is larger than 9 bytes'],
  [
    400,
    { error: 'Validation Error', details: [{ path: 'index', message: 'must be a whole number' }] },
    'index: must be',
  ],
  [403, undefined, ''],
])('an upload is not repeated after a refusal: %s', async (status, body, text) => {
  const { sent, environment } = answering(() => ({ status, body }))
  const refused = await uploadImage(imageOf(9), environment).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Problem)
  expect(refused).toMatchObject({ status, message: expect.stringContaining(text) })
  expect(sent).toHaveLength(1)
})

test('an upload ends when it is cancelled', async () => {
  const cancelled = new AbortController()
  const receiver = new PartReceiver()
  const take = async (range: string, part: Blob) => {
    if (receiver.sent.length === 1) cancelled.abort(new Error('cancelled'))
    return receiver.take(range, part)
  }
  const { environment } = environmentOf({ take }, { signal: cancelled.signal })
  await expect(uploadImage(imageOf(3 * partBytes), environment)).rejects.toThrow('cancelled')
  expect(receiver.sent).toHaveLength(2)
})
