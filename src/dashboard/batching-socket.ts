import type { Socket, SocketEvent } from '#client/client'
import type { WorkerMessage, WorkerRequest } from '#dashboard/socket-worker'

type Type = 'open' | 'message' | 'close' | 'error'

/** Close code of a connection that ended without a close frame. RFC 6455 §7.1.5 */
const abnormalClosure = 1006

/** Created with the first socket, and reused, because the worker's file may be gone after an update of the server. */
let worker: Worker | undefined
let count = 0
const open = new Map<number, BatchingSocket>()

/** A websocket that delivers messages in batches. It runs in a worker (`socket-worker.ts`). */
export class BatchingSocket implements Socket {
  readonly #id: number
  readonly #listeners: Readonly<Record<Type, ((event: SocketEvent) => void)[]>> = {
    open: [],
    message: [],
    close: [],
    error: [],
  }

  constructor(url: string) {
    count += 1
    this.#id = count
    open.set(this.#id, this)
    this.#post({ id: this.#id, open: url })
  }

  send(text: string): void {
    this.#post({ id: this.#id, send: text })
  }

  close(code = 1000): void {
    this.#post({ id: this.#id, close: code })
  }

  addEventListener(type: Type, listener: (event: SocketEvent) => void): void {
    this.#listeners[type].push(listener)
  }

  receive(message: WorkerMessage): void {
    if ('messages' in message) for (const data of message.messages) this.#emit('message', { data })
    else if ('opened' in message) this.#emit('open', {})
    else {
      open.delete(this.#id)
      this.#emit('close', { code: message.closed })
    }
  }

  #emit(type: Type, event: SocketEvent): void {
    for (const listener of this.#listeners[type]) listener(event)
  }

  #post(request: WorkerRequest): void {
    worker ??= startWorker()
    worker.postMessage(request)
  }
}

function startWorker(): Worker {
  const started = new Worker(new URL('./socket-worker.ts', import.meta.url), { type: 'module' })
  started.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => open.get(data.id)?.receive(data))
  // The worker could not be loaded, or failed: the next socket starts another worker.
  started.addEventListener('error', () => {
    started.terminate()
    worker = undefined
    for (const [id, socket] of [...open]) socket.receive({ id, closed: abnormalClosure })
  })
  return started
}
