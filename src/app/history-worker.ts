import { parentPort, workerData } from 'node:worker_threads'
import type { SharedChunk, ThreadCall, ThreadData, ThreadReport } from '#app/history-thread'
import { realWorld } from '#app/world'
import { History } from '#history/history'
import { StorageFailure } from '#runtime/storage'
import { moveFolderAside } from '#store/file-system'
import { levelStorage } from '#store/level'
import { Shapes } from '#store/shapes'

/** The program of the history thread. Only this thread opens the database of the history. */

const { folder, limits, roomBytes } = workerData as ThreadData
/** The stored shapes that chunks have named. */
const shapeRows = new Map<string, Uint8Array>()

const report = (message: ThreadReport) => parentPort?.postMessage(message, transferred(message))
const history = new History({
  world: realWorld,
  backend: levelStorage({
    folder,
    headroomBytes: 0,
    roomBytes,
    torn: (finding) => report({ warning: `${finding}: the last points are read from the stream again` }),
  }),
  setAside: () => moveFolderAside(folder, realWorld.now()),
  shapes: new Shapes((key) => shapeRows.get(key)),
  limits,
  failed: (error) => report({ failed: failureOf(error) }),
})

parentPort?.on('message', (message: ThreadCall | Uint8Array<ArrayBuffer>) => {
  if (message instanceof Uint8Array) history.reuse(message)
  else run(message)
})

function run({ id, method, args, shapes = [] }: ThreadCall): void {
  for (const [key, row] of shapes) shapeRows.set(key, row)
  const called = history[method] as (...given: readonly unknown[]) => Promise<unknown>
  const given: unknown[] = method === 'apply' ? [(args[0] as readonly SharedChunk[]).map(chunkOf)] : [...args]
  called.apply(history, given).then(
    (value) => report({ id, value }),
    (error) => report({ id, error: failureOf(error) }),
  )
}

/** The pieces of an answer are passed to the main thread without a copy. */
function transferred(message: ThreadReport): ArrayBuffer[] {
  const value = 'value' in message ? message.value : undefined
  if (typeof value !== 'object' || value === null || !('pieces' in value)) return []
  return (value.pieces as readonly Uint8Array<ArrayBuffer>[]).map(({ buffer }) => buffer)
}

function chunkOf({ buffer, at, length, ...chunk }: SharedChunk) {
  return { ...chunk, bytes: new Uint8Array(buffer, at, length) }
}

function failureOf(error: unknown) {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { message, stack, code: error instanceof StorageFailure ? error.code : undefined }
}
