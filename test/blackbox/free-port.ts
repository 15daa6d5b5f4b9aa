import { createServer } from 'node:net'

/**
 * A port that nobody listens on. For a server that is to come back where it was: one that chose its port itself can't, as
 * long as the system remembers its connections.
 */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
