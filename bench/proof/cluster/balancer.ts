import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '#bench/server-process'

/**
 * Forwards each client to one of several ports on loopback that accepts the connection. The ports are used in rotation.
 */
export class Balancer {
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #ports: () => readonly number[]
  #turn = 0

  private constructor(port: number, ports: () => readonly number[]) {
    this.port = port
    this.#ports = ports
    this.#server = createServer((client) => this.#connect(client, this.#ports().length * 2))
  }

  static async start(ports: () => readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(await freePort(), ports)
    await new Promise<void>((resolve) => balancer.#server.listen(balancer.port, '127.0.0.1', resolve))
    return balancer
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #connect(client: Socket, attempts: number): void {
    const ports = this.#ports()
    const port = ports[this.#turn++ % ports.length]
    if (port === undefined || attempts === 0) {
      client.destroy()
      return
    }
    const server = connect(port, '127.0.0.1')
    this.#note(client)
    this.#note(server)
    server.once('error', () => this.#connect(client, attempts - 1))
    server.once('connect', () => {
      server.removeAllListeners('error')
      for (const [from, to] of [
        [client, server],
        [server, client],
      ] as const) {
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
        from.pipe(to)
      }
    })
  }

  #note(socket: Socket): void {
    if (this.#sockets.has(socket)) return
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
  }
}
