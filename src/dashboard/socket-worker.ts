import { delayed } from '#dashboard/timers'

/**
 * Runs in a worker: holds the page's websockets, and delivers their messages in batches, up to eighty times a second.
 * Thousands of single messages a second would leave the page no time to render.
 */

/** Messages of the page; `id` is the number of the socket. */
export type WorkerRequest =
  | { readonly id: number; readonly open: string }
  | { readonly id: number; readonly send: string }
  | { readonly id: number; readonly close: number }

/** Messages to the page. `messages`: the new ones in order. */
export type WorkerMessage =
  | { readonly id: number; readonly opened: true }
  | { readonly id: number; readonly messages: readonly string[] }
  | { readonly id: number; readonly closed: number }

/** The worker globals that are used: the page's type library declares another `postMessage`. */
interface Page {
  postMessage(message: WorkerMessage): void
  addEventListener(type: 'message', listener: (event: { readonly data: WorkerRequest }) => void): void
}

/** About a frame: a longer delay would be visible. */
const batchMs = 12

const page = globalThis as unknown as Page
const sockets = new Map<number, WebSocket>()

page.addEventListener('message', ({ data }) => {
  if ('open' in data) open(data.id, data.open)
  else if ('send' in data) sockets.get(data.id)?.send(data.send)
  else sockets.get(data.id)?.close(data.close)
})

function open(id: number, url: string): void {
  const socket = new WebSocket(url)
  sockets.set(id, socket)
  let messages: string[] = []
  const flush = () => {
    if (messages.length > 0) page.postMessage({ id, messages })
    messages = []
  }
  const flushing = delayed(batchMs, flush)
  socket.addEventListener('open', () => page.postMessage({ id, opened: true }))
  socket.addEventListener('message', ({ data }) => {
    messages.push(String(data))
    flushing.start()
  })
  socket.addEventListener('close', ({ code }) => {
    flushing.cancel()
    flush()
    sockets.delete(id)
    page.postMessage({ id, closed: code })
  })
}
