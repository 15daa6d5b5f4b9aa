import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { imagePath } from '#api/cluster'
import type { LogExtent } from '#cluster/log-trim'
import type { NodeState } from '#cluster/nats-nodes'
import { nodeKeyHeader } from '#cluster/node'
import { positionIn } from '#cluster/replica'
import type { Log } from '#runtime/log'
import type { StorageBackend } from '#runtime/storage'
import type { World } from '#runtime/world'
import { everyKey, keys } from '#store/key-space'
import { finishImages, receiveImage } from '#store/node-image'
import { firstRowOf } from '#store/pages'

export interface ImageFetch {
  readonly world: World
  /** The data folder. */
  readonly folder: string
  readonly backend: StorageBackend
  readonly extent: () => Promise<LogExtent>
  readonly others: () => readonly NodeState[]
  /** The key by which nodes recognise each other. */
  readonly key: string
  readonly log: Log
}

const tryAgainMs = 1_000

/**
 * Fetches the data of another node if this node has no data, or if the log no longer has the messages after its data.
 * Waits for another node if necessary. Contract 11, Joining.
 */
export async function fetchImage({ world, folder, backend, extent, others, key, log }: ImageFetch): Promise<void> {
  await finishImages(folder)
  const sequence = await storedSequence(backend)
  if (sequence === undefined) return
  for (let isFirst = true; ; isFirst = false) {
    const { first } = await extent()
    const canFollow = first <= Math.max(1, sequence)
    const sources = others().filter((other) => other.sequence >= Math.max(1, first))
    if (canFollow && (sequence > 0 || sources.length === 0)) return
    for (const { name, url } of sources) {
      try {
        log.info({ node: name }, 'fetching the data of another node')
        await receiveImage(folder, requestImage(new URL(url), key))
        log.info({ node: name }, 'this node has the data of another node')
        return
      } catch (error) {
        log.warn({ err: error, node: name }, 'could not fetch the data of another node')
      }
    }
    if (canFollow) return
    if (isFirst)
      log.warn({}, 'the log no longer has the last message of this node: waiting for another node to send its data')
    await new Promise<void>((resolve) => world.after(tryAgainMs, resolve))
  }
}

/** The sequence of the last applied message; 0 for an empty store, undefined for the store of a single server. */
async function storedSequence(backend: StorageBackend): Promise<number | undefined> {
  const storage = await backend.open()
  try {
    if (storage.get(keys.replica) !== undefined) return positionIn(storage).sequence
    return (await firstRowOf(storage, { ...everyKey, hasValues: false })) ? undefined : 0
  } finally {
    await storage.close()
  }
}

/** After this time without a byte the other node is treated as stopped. */
const silenceMsMax = 30_000

/**
 * Requests the image of another node. The bytes are only complete if they end with the end mark of a backup.
 * @throws Error
 */
async function* requestImage(node: URL, key: string): AsyncGenerator<Uint8Array> {
  const ask = node.protocol === 'https:' ? httpsRequest : httpRequest
  const options = { headers: { [nodeKeyHeader]: key }, agent: false, timeout: silenceMsMax }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = ask(new URL(imagePath, node), options, resolve)
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no data for ${silenceMsMax / 1000} s`)))
    outgoing.end()
  })
  try {
    if (answer.statusCode !== 200) throw new Error(`${node.host} answered ${answer.statusCode}`)
    yield* answer as AsyncIterable<Uint8Array>
  } finally {
    answer.destroy()
  }
}
