import { describe, expect, test } from 'vitest'
import { type ObjectBucket, SharedBlobs } from '#cluster/shared-blobs'
import { Problem } from '#model/problem'
import { bytesMax, bytesOf, hashOf, noOwners, piecesOf } from '#test/store/blob-suite'
import { memoryBlobs } from '#test/store/memory-blobs'

/** A bucket in memory. It refuses new objects while `isAway`. */
class MemoryBucket implements ObjectBucket {
  readonly objects = new Map<string, { bytes: Uint8Array; storedAt: number }>()
  readonly now: () => number
  isAway = false

  constructor(now: () => number) {
    this.now = now
  }

  async put(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.isAway) throw new Problem('storage')
    const copies: Uint8Array[] = []
    for await (const piece of pieces) copies.push(piece.slice())
    this.objects.set(name, { bytes: new Uint8Array(Buffer.concat(copies)), storedAt: this.now() })
  }

  async get(name: string) {
    const found = this.objects.get(name)
    return found && piecesOf(found.bytes)
  }

  async find(name: string) {
    const found = this.objects.get(name)
    return found && { size: found.bytes.length, storedAt: found.storedAt }
  }

  async names() {
    return [...this.objects.keys()]
  }

  async remove(name: string) {
    this.objects.delete(name)
  }
}

const hour = 3_600_000

describe('images of two nodes', () => {
  function twoNodes() {
    let now = 0
    const clock = () => now
    const bucket = new MemoryBucket(clock)
    const node = () => new SharedBlobs({ local: memoryBlobs({ bytesMax, now: clock }), bucket, now: clock })
    return {
      bucket,
      nodes: [node(), node()] as const,
      wait: (ms: number) => {
        now += ms
      },
    }
  }
  const bytes = bytesOf(200_000)
  const sha256 = hashOf(bytes)
  const upload = (node: SharedBlobs, setOwner?: () => Promise<void>) =>
    node.receive('a', { from: 0, size: bytes.length }, piecesOf(bytes), setOwner)
  async function readFrom(node: SharedBlobs, from: number, to: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    for await (const piece of node.read(sha256, from, to)) pieces.push(piece.slice())
    return new Uint8Array(Buffer.concat(pieces))
  }

  test('an image can be read at a node that did not receive it, which fetches it once', async () => {
    const { bucket, nodes } = twoNodes()
    await upload(nodes[0])
    expect([await nodes[1].names(), await nodes[1].sizeOf(sha256)]).toEqual([[sha256], bytes.length])
    const parts = await Promise.all([readFrom(nodes[1], 0, 100), readFrom(nodes[1], 100, bytes.length)])
    expect(hashOf(new Uint8Array(Buffer.concat(parts)))).toBe(sha256)
    bucket.objects.clear()
    expect(hashOf(await readFrom(nodes[1], 0, bytes.length))).toBe(sha256)
  })

  test('an upload is complete only when the bucket has the image', async () => {
    const { bucket, nodes } = twoNodes()
    let owners = 0
    const setOwner = async () => {
      owners++
    }
    bucket.isAway = true
    await expect(upload(nodes[0], setOwner)).rejects.toMatchObject({ code: 'storage' })
    expect(owners).toBe(0)
    bucket.isAway = false
    await nodes[0].receive('a', { from: bytes.length, size: bytes.length }, piecesOf(new Uint8Array()), setOwner)
    expect([owners, [...bucket.objects.keys()]]).toEqual([1, [sha256]])
  })

  test('an object with damaged bytes is not the image', async () => {
    const { bucket, nodes } = twoNodes()
    await upload(nodes[0])
    bucket.objects.set(sha256, { bytes: bytesOf(200_000, 1), storedAt: 0 })
    await expect(readFrom(nodes[1], 0, 10)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a sweep removes images without references from the bucket, except those of the last hour', async () => {
    const { bucket, nodes, wait } = twoNodes()
    await upload(nodes[0])
    await nodes[1].sweep(() => false, noOwners)
    expect(bucket.objects.size).toBe(1)
    wait(hour + 1)
    await nodes[1].sweep((name) => name === sha256, noOwners)
    expect(bucket.objects.size).toBe(1)
    await nodes[1].sweep(() => false, noOwners)
    expect(bucket.objects.size).toBe(0)
  })
})
