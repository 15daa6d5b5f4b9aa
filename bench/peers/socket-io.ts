import { createServer } from 'node:http'
import { Server } from 'socket.io'
import { serveFunctions } from '#bench/harness/remote'

const room = 'dashboards'

/** Each client that asks to watch receives every change. */
serveFunctions({
  listen: ({ port }: { port: number }) =>
    new Promise((resolve) => {
      const http = createServer()
      const server = new Server(http, { transports: ['websocket'], serveClient: false })
      server.on('connection', (socket) => {
        socket.on('watch', async (done: () => void) => {
          await socket.join(room)
          done()
        })
        socket.on('change', (change: unknown) => {
          server.to(room).emit('change', change)
        })
      })
      http.listen(port, '127.0.0.1', 4_096, () => resolve(process.pid))
    }),
})
