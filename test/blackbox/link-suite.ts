import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { badFrameSuite } from '#test/blackbox/link-bad-frames'
import type { Protocol } from '#test/blackbox/link-client'
import { conversationSuite } from '#test/blackbox/link-conversation'
import { declarationSuite } from '#test/blackbox/link-declaration'
import { LinkGround } from '#test/blackbox/link-ground'
import { limitSuite } from '#test/blackbox/link-limits'
import { takeOverSuite } from '#test/blackbox/link-take-over'
import { valueSuite } from '#test/blackbox/link-values'
import { StartedServer } from '#test/blackbox/started-server'

/** Contract 7 over real sockets: the same for both ways of writing its messages. */
export function linkSuite(protocol: Protocol): void {
  let server: StartedServer
  const ground = new LinkGround(protocol, () => server)

  beforeAll(async () => {
    server = await StartedServer.start()
  })
  afterEach(() => ground.cutAll())
  afterAll(() => server?.finish())

  describe('a conversation', () => conversationSuite(ground))
  describe('values', () => valueSuite(ground))
  describe('a declaration', () => declarationSuite(ground))
  describe('two links for one device', () => takeOverSuite(ground))
  describe('limits', () => limitSuite(ground))
  describe('bad frames', () => badFrameSuite(ground))
}
