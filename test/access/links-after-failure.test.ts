import { expect, test } from 'vitest'
import { hashOf, provisioningKeyText } from '#access/secret-text'
import { IdentityFixture } from '#test/access/identity-fixture'
import { TestLink } from '#test/link/link-fixture'

const tryLater = 1013
const [device, keyId] = ['SENSOR-1', '2Vb7qYx9Kd']
const secret = 'A'.repeat(43)
const keyText = provisioningKeyText(keyId, secret)

/** Changes that make a credential invalid, each with a client that uses the credential. */
const credentialChanges = {
  'a secret that is rotated': {
    name: device,
    shown: secret,
    to: { kind: 'device', tenant: 'default', id: device },
    command: { type: 'set_secret', hash: hashOf('another') },
  },
  'a key that is deleted': {
    name: '*',
    shown: keyText,
    to: { kind: 'tenant', tenant: 'default', id: 'default' },
    command: { type: 'delete_key', kind: 'provisioning_key', id: keyId },
  },
} as const

const rows = Object.keys(credentialChanges).flatMap((change) =>
  [true, false].map((isOnDisk) => [change, isOnDisk] as const),
)

test.each(rows)(
  '%s by a failed write (on the disk: %s) closes device connections with the old credential',
  async (change, isOnDisk) => {
    const { name, shown, to, command } = credentialChanges[change as keyof typeof credentialChanges]
    const fixture = await IdentityFixture.open()
    const {
      system,
      devices: { links },
    } = fixture.assembly.context
    await fixture.tenant('default', { type: 'admit_device', device, meta: {}, secretHash: hashOf(secret) })
    const add = { name: 'a gateway', hash: hashOf(keyText), expiresAt: null, maxDevices: null }
    await fixture.tenant('default', { type: 'add_provisioning_key', id: keyId, ...add })
    const authorization = `Basic ${Buffer.from(`${name}:${shown}`).toString('base64')}`
    const connectDevice = () => new TestLink(links, { ...fixture.identity.linkCaller(authorization), protocol: 'json' })

    const before = connectDevice()
    before.hello(name === '*' ? 'OTHER-1' : device)
    await fixture.world.settle()
    expect(before.lines).toEqual([expect.stringMatching(/^WELCOME/)])
    fixture.faults.next = { fail: 'full', reachedDisk: isOnDisk }
    expect(await fixture.refusal(system.ask(to, command))).toBe('storage STORAGE')
    await fixture.world.settle()
    expect([before.lines.at(-1), before.closedWith]).toEqual(['ERROR STORAGE', tryLater])

    // Until the store is read again, the old credential is accepted, even if the change is on the disk.
    const meanwhile = [connectDevice(), connectDevice()]
    await fixture.world.settle()
    expect(meanwhile.map(({ closedWith }) => closedWith)).toEqual([undefined, undefined])
    await fixture.world.advance(5_000)
    expect(fixture.assembly.database.status).toBe('ok')
    expect(meanwhile.map(({ closedWith }) => closedWith)).toEqual([tryLater, tryLater])
    expect(links.linkCount).toBe(0)
    expect(await fixture.judge(connectDevice)).toBe(isOnDisk ? 'unauthorized invalid credentials' : undefined)
  },
)
