import type { JetStreamClient } from '@nats-io/jetstream'
import { Objm } from '@nats-io/obj'
import type { ObjectBucket } from '#cluster/shared-blobs'
import { Problem } from '#model/problem'

/** A bucket of the object store of NATS JetStream. A failure of NATS is a Problem `storage`. */
export async function natsObjects(client: JetStreamClient, bucket: string, replicas: number): Promise<ObjectBucket> {
  const store = await new Objm(client).create(bucket, { replicas })
  return {
    put: (name, pieces) =>
      answered(async () => {
        await store.put({ name }, ReadableStream.from(copied(pieces)))
      }),
    get: (name) => answered(async () => (await store.get(name))?.data),
    find: (name) =>
      answered(async () => {
        const info = await store.info(name)
        return info && !info.deleted ? { size: info.size, storedAt: Date.parse(info.mtime) } : undefined
      }),
    names: () => answered(async () => (await store.list()).map(({ name }) => name)),
    remove: (name) =>
      answered(async () => {
        if (await store.info(name)) await store.delete(name)
      }),
  }
}

async function answered<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof Problem
      ? error
      : new Problem('storage', error instanceof Error ? `NATS: ${error.message}` : undefined)
  }
}

async function* copied(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) yield Uint8Array.from(piece)
}
