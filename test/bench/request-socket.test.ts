import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RequestSocket } from '#bench/load/request-socket'

/** What the other side hears and says is a test's own. */
let server: Server
let peer: Socket
let socket: RequestSocket
let answers: number
let failures: string[]

beforeEach(async () => {
  answers = 0
  // Its own: the connection of the test before ends behind it.
  const told: string[] = []
  failures = told
  server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connected = once(server, 'connection')
  socket = await RequestSocket.open({
    port: (server.address() as AddressInfo).port,
    answered: () => answers++,
    failed: (error) => told.push(error.message),
  })
  ;[peer] = (await connected) as [Socket]
})

afterEach(() => {
  peer.destroy()
  server.close()
})

async function said(text: string): Promise<void> {
  peer.write(text)
  await new Promise((resolve) => setTimeout(resolve, 20))
}

test('a request goes out as it is, and an answer counts when it is whole', async () => {
  const heard = once(peer, 'data')
  socket.ask(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  expect(String(await heard)).toBe('GET / HTTP/1.1\r\n\r\n')
  await said('HTTP/1.1 200 OK\r\nContent-Le')
  await said('ngth: 6\r\n\r\nab\r\n')
  expect(answers).toBe(0)
  await said('\r\n')
  expect(answers).toBe(1)
  await said('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  expect([answers, failures]).toEqual([2, []])
})

test('an answer that is not 200 is told, and counts for nothing', async () => {
  await said('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno')
  expect(answers).toBe(0)
  expect(failures).toEqual([expect.stringContaining('401 Unauthorized')])
})

test('so is the end of the connection', async () => {
  peer.destroy()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(failures).toContain('the server closed a connection')
})

test('a request on a connection that ended before is told too, and not waited for', async () => {
  peer.destroy()
  await new Promise((resolve) => setTimeout(resolve, 20))
  failures.length = 0
  socket.ask(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  expect(failures).toEqual(['the server closed a connection'])
})
