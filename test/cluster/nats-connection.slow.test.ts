import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { NatsServer, noNats } from '#bench/harness/nats-servers'
import { projectRoot } from '#bench/project-root'
import { natsFindings } from '#cli/doctor/doctor'
import { ClusterFailure } from '#cluster/cluster-failure'
import { connectNats, natsObjects } from '#cluster/nats'
import { checkSync, connectToNats } from '#cluster/nats-connection'
import { configOf } from '#test/app/valid-config'
import { world } from '#test/http/http-fixture'
import { bytesOf, piecesOf } from '#test/store/blob-suite'

/** The configuration that ops/compose.cluster.yaml uses. Here it is that of one server on any port. */
const shipped = readFileSync(join(projectRoot, 'ops/nats/nats.conf'), 'utf8')
  .replace(/^listen: .*$/m, '')
  .replace(/^ {2}store_dir: .*$/m, '')
  .replace(/^cluster \{[^}]*\}$/m, '')

describe.skipIf(noNats !== undefined)(`connections to NATS${noNats ? `: ${noNats}` : ''}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nats-connection-'))
  let synced: NatsServer
  let unsynced: NatsServer
  beforeAll(async () => {
    vi.stubEnv('NATS_NAME', 'nats-1')
    vi.stubEnv('NATS_PASSWORD', '"1e5@"')
    vi.stubEnv('NATS_SYSTEM_PASSWORD', '"secret"')
    synced = await NatsServer.start(shipped)
    unsynced = await NatsServer.start(shipped.replace('sync_interval: always', ''))
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await synced?.discard()
    await unsynced?.discard()
    rmSync(folder, { recursive: true, force: true })
  })

  function fileWith(text: string): string {
    const file = join(folder, 'credentials')
    writeFileSync(file, text)
    return file
  }

  const settings = ({ url }: NatsServer, user = '', scheme = 'nats') => ({
    servers: [url.replace('nats://', `${scheme}://${user}`)],
    node: { name: 'a' },
  })

  async function check(server: NatsServer, line: string): Promise<void> {
    const connection = await connectToNats(settings(server), fileWith(line))
    await checkSync(connection).finally(() => connection.close())
  }

  test('store objects that another connection reads', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => connectToNats(settings(unsynced, 'devices:1e5%40@'), undefined)),
    )
    const [writer, reader] = await Promise.all(
      [one, two].map((each) => natsObjects(jetstream(each as NatsConnection), 'images', 1)),
    )
    const bytes = bytesOf(300_000)
    await writer?.put('image', piecesOf(bytes))
    const read: Uint8Array[] = []
    for await (const piece of (await reader?.get('image')) ?? []) read.push(piece)
    expect(Buffer.concat(read).equals(bytes)).toBe(true)
    expect(await reader?.find('image')).toEqual({ size: bytes.length, storedAt: expect.any(Number) })
    expect(await reader?.names()).toEqual(['image'])
    await reader?.remove('image')
    expect([await writer?.find('image'), await writer?.get('image')]).toEqual([undefined, undefined])
    await one?.close()
    await expect(writer?.find('image')).rejects.toMatchObject({ code: 'storage' })
    await two?.close()
  })

  test('use the credentials in the URL or in the file', async () => {
    const byUrl = await connectToNats(settings(synced, 'devices:1e5%40@'), undefined)
    const byFile = await connectToNats(settings(synced), fileWith('devices:1e5@\n'))
    for (const connection of [byUrl, byFile]) {
      await connection.flush()
      await connection.close()
    }
  })

  test('are accepted with servers that write to disk before they acknowledge', async () => {
    await expect(check(synced, 'system:secret')).resolves.toBeUndefined()
  })

  test('are refused with servers that acknowledge before they write, and with an account that cannot check this', async () => {
    await expect(check(unsynced, 'system:secret')).rejects.toThrow(
      'the NATS server nats-1 has no "sync_interval: always" in its jetstream block; DURABILITY=disk needs it',
    )
    await expect(check(synced, 'devices:1e5@')).rejects.toThrow('NATS_SYS_CREDS is not of a system account')
  })

  test('are checked by doctor', async () => {
    const findings = async ({ url }: NatsServer, line: string) => {
      const config = configOf({
        NATS_URL: url.replace('nats://', 'nats://devices:1e5%40@'),
        NATS_SYS_CREDS: fileWith(line),
        NODE_URL: 'http://127.0.0.1:8080',
        DURABILITY: 'disk',
      })
      return (await natsFindings(config)).map(({ verdict, said }) => `${verdict} ${said}`)
    }
    expect(await findings(synced, 'system:secret')).toEqual([
      expect.stringMatching(/^ok 127\.0\.0\.1:\d+ is version 2\./),
      'ok all servers write a message to disk before they acknowledge it',
    ])
    expect(await findings(unsynced, 'system:secret')).toEqual([expect.stringMatching(/^wrong .*sync_interval: always/)])
    expect(await findings(synced, 'system:wrong')).toEqual([
      expect.stringMatching(/^wrong NATS refuses the credentials/),
    ])
  })

  test.each<[string, string, string, string | undefined, RegExp]>([
    ['a wrong password', 'devices:wrong@', 'nats', undefined, /^NATS refuses the credentials of NATS_URL/],
    ['no credentials', '', 'nats', undefined, /^NATS refuses the credentials of NATS_URL/],
    ['a file with anything else', '', 'nats', 'secret', /neither credentials of NATS nor one line user:password$/],
    ['TLS that the server does not have', 'devices:1e5%40@', 'tls', undefined, /does not support 'tls'$/],
  ])('are refused with %s', async (_, user, scheme, line, message) => {
    const file = line === undefined ? undefined : fileWith(line)
    const refused = connectToNats(settings(synced, user, scheme), file, { maxReconnectAttempts: 0 })
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toBeInstanceOf(ClusterFailure)
  })

  describe('for a node', () => {
    const joined = (servers: readonly NatsServer[], replicas: number, waiting = () => {}) =>
      connectNats(
        {
          servers: servers.map(({ url }) => url),
          node: { name: 'a', url: 'http://127.0.0.1:1' },
          cluster: 'devices',
          replicas,
          credentialsFile: undefined,
          systemCredentialsFile: undefined,
          fileKey: async () => new Uint8Array(32),
        },
        world,
        waiting,
      )

    test('wait until the servers have a leader, and are refused if fewer servers store the log than configured', async () => {
      const servers = await NatsServer.startCluster(3)
      const [first, ...others] = servers as [NatsServer, NatsServer, NatsServer]
      try {
        await Promise.all(others.map((server) => server.kill()))
        let hasWaited = () => {}
        const waiting = new Promise<void>((resolve) => {
          hasWaited = resolve
        })
        const joining = joined([first], 1, hasWaited)
        await waiting
        await Promise.all(others.map((server) => server.startAgain()))
        await (await joining).close()
        await expect(joined(servers, 3)).rejects.toThrow(
          'the stream devices_log has num_replicas 1, and NATS_REPLICAS is 3: edit the stream, or lower NATS_REPLICAS',
        )
      } finally {
        for (const server of servers) await server.discard()
      }
    })
  })

  test('are refused if the file of credentials is missing', async () => {
    await expect(connectToNats(settings(synced), join(folder, 'missing'))).rejects.toThrow(/ENOENT.*missing/)
  })
})
