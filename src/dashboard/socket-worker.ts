import { after } from '#dashboard/world'

/**
 * Runs beside the page, in a thread of its own: holds the page's websockets, and hands over what they say some dozen times
 * a second. Thousands of messages a second, each a task of the page's own, would leave it no time to draw; what is in
 * them takes it little.
 */

/** What the page says: of which socket, by its number. */
export type Asked =
  | { readonly id: number; readonly open: string }
  | { readonly id: number; readonly send: string }
  | { readonly id: number; readonly close: number }

/** What it hears. `messages`: those that came since, in order. */
export type Told =
  | { readonly id: number; readonly opened: true }
  | { readonly id: number; readonly messages: readonly string[] }
  | { readonly id: number; readonly closed: number }

/** Of the surroundings of a worker what is used: the page's library knows another `postMessage`. */
interface Page {
  postMessage(told: Told): void
  addEventListener(type: 'message', listener: (event: { readonly data: Asked }) => void): void
}

/** About a frame: later than that somebody could see. */
const gatherMs = 12

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
  let stopWaiting: (() => void) | undefined
  const handOver = () => {
    stopWaiting?.()
    stopWaiting = undefined
    if (messages.length > 0) page.postMessage({ id, messages })
    messages = []
  }
  socket.addEventListener('open', () => page.postMessage({ id, opened: true }))
  socket.addEventListener('message', ({ data }) => {
    messages.push(String(data))
    stopWaiting ??= after(gatherMs, handOver)
  })
  socket.addEventListener('close', ({ code }) => {
    handOver()
    sockets.delete(id)
    page.postMessage({ id, closed: code })
  })
}
