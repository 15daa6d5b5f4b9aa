import { createServer } from 'node:net'
import { Aedes } from 'aedes'
import { serveFunctions } from '#bench/harness/remote'

/** As in its own documentation: everything in memory. */
serveFunctions({
  async listen({ port }: { port: number }) {
    const broker = await Aedes.createBroker()
    const server = createServer({ noDelay: true }, broker.handle)
    return await new Promise((resolve) => server.listen(port, '127.0.0.1', 4_096, () => resolve(process.pid)))
  },
})
