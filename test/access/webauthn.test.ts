import { beforeEach, describe, expect, test } from 'vitest'
import { relyingPartyOf, Webauthn, type WebauthnCredential } from '#access/webauthn'
import { type Asked, SoftAuthenticator } from '#test/access/soft-authenticator'

const relyingParty = {
  id: 'devices.example',
  name: 'Devices',
  origins: ['https://devices.example', 'https://app.example'],
}
const challenge = Buffer.from('a challenge of more than sixteen bytes').toString('base64url')
const asked: Asked = { challenge, rpId: 'devices.example', origin: 'https://devices.example' }
const webauthn = new Webauthn(() => relyingParty)

let authenticator: SoftAuthenticator

beforeEach(() => {
  authenticator = new SoftAuthenticator('one')
})

async function registered(): Promise<WebauthnCredential> {
  const credential = await webauthn.registered(authenticator.register(asked), challenge)
  if (!credential) throw new Error('the registration was refused')
  return credential
}

describe('a registration', () => {
  test('requests a second factor, with the challenge', async () => {
    const present = [{ id: 'AAAA', publicKey: new Uint8Array(), counter: 0, transports: ['usb'] }]
    const options = await webauthn.registrationOptions({ challenge, user: 'User111111', name: 'Ann', present })
    expect(options).toMatchObject({
      challenge,
      rp: { id: 'devices.example', name: 'Devices' },
      user: { id: Buffer.from('User111111').toString('base64url'), name: 'Ann', displayName: 'Ann' },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
      attestation: 'none',
      excludeCredentials: [{ id: 'AAAA', transports: ['usb'], type: 'public-key' }],
      authenticatorSelection: { residentKey: 'discouraged', userVerification: 'discouraged' },
      timeout: 300_000,
    })
  })

  test.each(relyingParty.origins)('of a passkey at %s is accepted', async (origin) => {
    expect(await webauthn.registered(authenticator.register({ ...asked, origin }), challenge)).toEqual({
      id: authenticator.id.toString('base64url'),
      publicKey: expect.any(Uint8Array),
      counter: 1,
      transports: ['nfc', 'usb'],
    })
  })

  test.each<[string, Partial<Asked>]>([
    ['to another challenge', { challenge: 'AAAA' }],
    ['on another page', { origin: 'https://evil.example' }],
    ['on a page of another port', { origin: 'https://devices.example:8443' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['with another kind of answer', { type: 'webauthn.get' }],
    ['without a touch', { isPresent: false }],
    ['with an attestation of the manufacturer', { format: 'android-key' }],
    ['with an unknown attestation', { format: 'mine' }],
    ['with the format of a self attestation, but without a signature', { format: 'packed' }],
  ])('of a passkey %s is refused', async (_, wrong) => {
    expect(await webauthn.registered(authenticator.register({ ...asked, ...wrong }), challenge)).toBeUndefined()
  })
})

describe('a sign-in', () => {
  test('requests the registered passkeys', async () => {
    const credential = await registered()
    const options = await webauthn.authenticationOptions({ challenge, credentials: [credential] })
    expect(options).toMatchObject({
      challenge,
      rpId: 'devices.example',
      allowCredentials: [{ id: credential.id, transports: ['nfc', 'usb'], type: 'public-key' }],
      userVerification: 'discouraged',
    })
  })

  test('with a passkey is accepted, and returns its new counter', async () => {
    const credential = await registered()
    const first = await webauthn.authenticated(authenticator.authenticate(asked), challenge, credential)
    expect(first).toEqual({ counter: 2 })
    const next = { ...credential, ...first }
    expect(await webauthn.authenticated(authenticator.authenticate(asked), challenge, next)).toEqual({ counter: 3 })
  })

  test('with a passkey whose counter is always 0 is accepted repeatedly', async () => {
    authenticator = new SoftAuthenticator('without a counter', 0)
    const credential = await registered()
    for (let times = 0; times < 2; times++) {
      const answer = authenticator.authenticate({ ...asked, counter: 0 })
      expect(await webauthn.authenticated(answer, challenge, credential)).toEqual({ counter: 0 })
    }
  })

  test.each<[string, Partial<Asked>]>([
    ['to another challenge', { challenge: 'AAAA' }],
    ['on another page', { origin: 'https://evil.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['with another kind of answer', { type: 'webauthn.create' }],
    ['without a touch', { isPresent: false }],
    ['with the same counter', { counter: 1 }],
    ['with a lower counter', { counter: 0 }],
  ])('with a passkey %s is refused', async (_, wrong) => {
    const credential = await registered()
    const answer = authenticator.authenticate({ ...asked, ...wrong })
    expect(await webauthn.authenticated(answer, challenge, credential)).toBeUndefined()
  })

  test('with another passkey is refused, also if it has the same id', async () => {
    const credential = await registered()
    const other = new SoftAuthenticator('two')
    const sameName = new SoftAuthenticator('one')
    for (const wrong of [other, sameName]) {
      expect(await webauthn.authenticated(wrong.authenticate(asked), challenge, credential)).toBeUndefined()
    }
  })

  test('with a passkey that answers with another id is refused', async () => {
    const credential = await registered()
    const answer = { ...authenticator.authenticate(asked), id: 'AAAA', rawId: 'AAAA' }
    expect(await webauthn.authenticated(answer, challenge, credential)).toBeUndefined()
  })

  test('with a changed signature is refused', async () => {
    const credential = await registered()
    const answer = authenticator.authenticate(asked)
    const signature = Buffer.from(answer.response.signature, 'base64url')
    signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1
    const changed = { ...answer, response: { ...answer.response, signature: signature.toString('base64url') } }
    expect(await webauthn.authenticated(changed, challenge, credential)).toBeUndefined()
  })
})

test.each([
  undefined,
  null,
  1,
  'a',
  [],
  {},
  { id: 'a', rawId: 'a', type: 'public-key', response: null },
  { id: 'a', rawId: 'a', type: 'public-key', response: { clientDataJSON: '', attestationObject: '' } },
  { id: 'a', rawId: 'a', type: 'public-key', response: { clientDataJSON: 'bnVsbA', attestationObject: 'AAAA' } },
  { id: 'a', rawId: 'a', type: 'public-key', response: { clientDataJSON: {}, attestationObject: [], signature: 1 } },
])('an invalid answer such as %j is refused', async (answer) => {
  const credential = await registered()
  expect(await webauthn.registered(answer, challenge)).toBeUndefined()
  expect(await webauthn.authenticated(answer, challenge, credential)).toBeUndefined()
})

test.each([
  [
    { publicUrls: [], corsOrigins: [], port: 8080 },
    { id: 'localhost', origins: ['http://localhost:8080'] },
  ],
  [
    { publicUrls: [], corsOrigins: ['http://localhost:5173'], port: 8080 },
    { id: 'localhost', origins: ['http://localhost:8080', 'http://localhost:5173'] },
  ],
  [
    { publicUrls: ['https://Devices.example:8443/prefix'], corsOrigins: ['https://app.devices.example'], port: 8080 },
    { id: 'devices.example', origins: ['https://devices.example:8443', 'https://app.devices.example'] },
  ],
  [
    { publicUrls: ['https://a.example', 'https://b.example'], corsOrigins: ['https://a.example'], port: 1 },
    { id: 'a.example', origins: ['https://a.example', 'https://b.example'] },
  ],
])('the relying party is derived from the settings %j', (settings, expected) => {
  expect(relyingPartyOf(settings)).toMatchObject(expected)
})
