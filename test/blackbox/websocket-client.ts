import WebSocket from 'ws'
import { until } from '#test/blackbox/until'

export interface Closing {
  readonly code: number
  readonly reason: string
}

/** A websocket that is connecting, open, refused with a status, or closed. */
export class WebsocketClient {
  readonly socket: WebSocket
  closing: Closing | undefined
  isOpen = false
  /** The HTTP status of a refused upgrade. */
  refusal: number | undefined

  constructor(url: string, protocols: readonly string[] = [], headers: Readonly<Record<string, string>> = {}) {
    this.socket = new WebSocket(url, [...protocols], { perMessageDeflate: false, headers })
    this.socket.on('open', () => {
      this.isOpen = true
    })
    this.socket.on('unexpected-response', (request, response) => {
      this.refusal = response.statusCode
      response.resume()
      request.destroy()
    })
    // An error is followed by the event `close`.
    this.socket.on('error', () => {})
    this.socket.on('close', (code, reason) => {
      this.closing = { code, reason: reason.toString() }
    })
  }

  async opened(): Promise<this> {
    await until(
      () => this.isOpen || this.closing || this.refusal !== undefined,
      () => 'a websocket to open',
    )
    if (!this.isOpen) throw new Error(`the websocket was refused: ${this.refusal ?? this.closing?.code}`)
    return this
  }

  async refused(): Promise<number> {
    return until(() => this.refusal, 'an upgrade to be refused')
  }

  async closed(): Promise<Closing> {
    return until(() => this.closing, 'a websocket to be closed')
  }

  /** Closes with a handshake. */
  async close(): Promise<void> {
    this.socket.close()
    await this.closed()
  }

  /** Ends the connection without a handshake. */
  cut(): void {
    this.socket.terminate()
  }
}
