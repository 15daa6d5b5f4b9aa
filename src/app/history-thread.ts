import { Worker } from 'node:worker_threads'
import type { HistoryService } from '#history/history'
import type { HistoryLimits } from '#history/retention'
import { isReusable } from '#history/text-pieces'
import type { Applied, Checkpoint, StreamChunk } from '#runtime/projection'
import { StorageFailure, type StorageFailureCode } from '#runtime/storage'
import { shapeIdsOf } from '#store/chunk'
import { keys } from '#store/key-space'

export interface ThreadData {
  readonly folder: string
  readonly limits: HistoryLimits
  /** History stops while less disk space than this is free. */
  readonly roomBytes: number
}

/** A chunk whose bytes lie in memory that both threads share. */
export interface SharedChunk extends Omit<StreamChunk, 'bytes'> {
  readonly buffer: SharedArrayBuffer
  readonly at: number
  readonly length: number
}

/** The methods that run in the thread. */
type Method = Exclude<keyof HistoryService, 'name' | 'reuse'>

export interface ThreadCall {
  readonly id: number
  readonly method: Method
  readonly args: readonly unknown[]
  /** Rows of shapes that the chunks name for the first time. */
  readonly shapes?: readonly (readonly [key: string, row: Uint8Array])[]
}

interface ThreadFailure {
  readonly message: string
  readonly stack: string | undefined
  readonly code: StorageFailureCode | undefined
}

export type ThreadReport =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ThreadFailure }
  | { readonly failed: ThreadFailure }
  | { readonly warning: string }

export interface HistoryThreadOptions extends ThreadData {
  /** Returns a stored row. */
  readonly rowOf: (key: string) => Uint8Array | undefined
  readonly failed: (error: unknown) => void
  readonly warned: (message: string) => void
}

interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** When the sources run directly, as in tests, the thread runs the built program. */
const program = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/src/app/history-worker.js' : './history-worker.js',
  import.meta.url,
)

const bufferBytesMin = 1024 * 1024

/** A quarter of the default of V8: saves up to 36 MB, and the thread needs no more CPU. */
const maxYoungGenerationSizeMb = 12

/**
 * History in a thread of its own, so that it takes no time from the event loop, except to copy chunks into memory that
 * both threads share. Without shared memory, each batch would allocate memory of its own, which triggers full garbage
 * collections. A thread that ended is started again by the next `open`.
 */
export class HistoryThread implements HistoryService {
  readonly name = 'history'
  readonly #options: HistoryThreadOptions
  #worker: Worker | undefined
  readonly #pending = new Map<number, PendingCall>()
  #lastId = 0
  #buffer = new SharedArrayBuffer(bufferBytesMin)
  readonly #sentShapes = new Set<string>()
  readonly resume = this.#inThread('resume')
  readonly confirm = this.#inThread('confirm')
  readonly skip = this.#inThread('skip')
  readonly removeTenant = this.#inThread('removeTenant')
  readonly query = this.#inThread('query')
  readonly fleetAggregate = this.#inThread('fleetAggregate')
  readonly importPoints = this.#inThread('importPoints')
  readonly flush = this.#inThread('flush')
  readonly compact = this.#inThread('compact')
  readonly setRetentions = this.#inThread('setRetentions')

  constructor(options: HistoryThreadOptions) {
    this.#options = options
  }

  open(): Promise<readonly Checkpoint[]> {
    if (!this.#worker) this.#start()
    return this.#call('open', [])
  }

  apply(chunks: readonly StreamChunk[]): Promise<Applied> {
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0)
    if (bytes > this.#buffer.byteLength) this.#buffer = new SharedArrayBuffer(bytes)
    const buffer = this.#buffer
    const shared = new Uint8Array(buffer)
    const shapes: [string, Uint8Array][] = []
    let at = 0
    const sent = chunks.map(({ bytes: chunkBytes, ...chunk }): SharedChunk => {
      for (const id of shapeIdsOf(chunkBytes)) this.#addShape(id, shapes)
      shared.set(chunkBytes, at)
      at += chunkBytes.length
      return { ...chunk, buffer, at: at - chunkBytes.length, length: chunkBytes.length }
    })
    return this.#call('apply', [sent], shapes)
  }

  /** A large piece becomes unreadable in this thread. */
  reuse(piece: Uint8Array<ArrayBuffer>): void {
    if (isReusable(piece)) this.#worker?.postMessage(piece, [piece.buffer])
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    try {
      await this.#call('close', [])
    } finally {
      this.#worker = undefined
      await worker.terminate()
    }
  }

  /** A method of the history that runs in the thread as it is called here. */
  #inThread<M extends Method>(method: M): HistoryService[M] {
    return ((...args: readonly unknown[]) => this.#call<never>(method, args)) as HistoryService[M]
  }

  #addShape(id: string, shapes: [string, Uint8Array][]): void {
    if (this.#sentShapes.has(id)) return
    const key = keys.shape(id)
    const row = this.#options.rowOf(key)
    if (!row) return
    this.#sentShapes.add(id)
    shapes.push([key, row])
  }

  #start(): void {
    const { folder, limits, roomBytes, failed, warned } = this.#options
    const data: ThreadData = { folder, limits, roomBytes }
    const worker = new Worker(program, { workerData: data, resourceLimits: { maxYoungGenerationSizeMb } })
    this.#worker = worker
    this.#sentShapes.clear()
    worker.on('message', (report: ThreadReport) => {
      if ('failed' in report) failed(errorOf(report.failed))
      else if ('warning' in report) warned(report.warning)
      else this.#answered(report)
    })
    worker.on('error', failed)
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
      for (const { reject } of this.#pending.values())
        reject(new StorageFailure('closed', 'the thread of history ended'))
      this.#pending.clear()
    })
  }

  #answered(report: Extract<ThreadReport, { readonly id: number }>): void {
    const call = this.#pending.get(report.id)
    this.#pending.delete(report.id)
    if ('error' in report) call?.reject(errorOf(report.error))
    else call?.resolve(report.value)
  }

  #call<Value>(method: Method, args: readonly unknown[], shapes: ThreadCall['shapes'] = []): Promise<Value> {
    const worker = this.#worker
    if (!worker) return Promise.reject(new StorageFailure('closed', 'the thread of history ended'))
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as PendingCall['resolve'], reject })
      const call: ThreadCall = { id, method, args, shapes }
      worker.postMessage(call)
    })
  }
}

function errorOf({ message, stack, code }: ThreadFailure): Error {
  const error = code ? new StorageFailure(code, message) : new Error(message)
  if (stack !== undefined) error.stack = stack
  return error
}
