import { type WebSocket, WebSocketServer } from 'ws'
import { serveFunctions } from '#bench/harness/remote'

/** Like the broadcast example of the package: sends each message at `/publish` to all sockets at `/subscribe`. */
serveFunctions({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve) => {
      const server = new WebSocketServer({ host: '127.0.0.1', port, backlog: 4_096 }, () => resolve(process.pid))
      const subscribers = new Set<WebSocket>()
      server.on('connection', (socket, { url }) => {
        if (url === '/subscribe') {
          subscribers.add(socket)
          socket.on('close', () => subscribers.delete(socket))
          return
        }
        socket.on('message', (text: Buffer) => {
          for (const subscriber of subscribers) subscriber.send(text, { binary: false })
        })
      })
    }),
})
