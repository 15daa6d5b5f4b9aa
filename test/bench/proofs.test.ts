import { randomBytes } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { ProvingKey } from '#bench/load/proofs'
import { Nonces } from '#iam/nonces'
import { Proofs } from '#iam/proof'
import { ProofKeys } from '#iam/proof-keys'
import { Replays } from '#iam/replays'

const origin = 'http://127.0.0.1:8080'
const path = '/api/v1/iam/me'
const subject = { method: 'GET', url: origin + path }

let nonces: Nonces
let proofs: Proofs

beforeEach(() => {
  const { now } = Date
  nonces = new Nonces({ now, key: randomBytes(32) })
  proofs = new Proofs({ now, nonces, replays: new Replays({ now, random: randomBytes }), keys: new ProofKeys({ now }) })
})

function check(proof: string, token?: string) {
  const seen = { origins: [origin], host: '127.0.0.1:8080', address: '127.0.0.1' }
  const asked = { method: 'GET', path, seen, header: () => proof, headerCount: () => 1, addReplyHeader() {} }
  return proofs.check(asked, token)
}

test("a key's proofs are good ones, of one key, and each another", () => {
  const key = new ProvingKey()
  const [one, other] = [1, 2].map(() => check(key.proof({ ...subject, nonce: nonces.current, token: 'T' }), 'T'))
  expect(one?.jkt).toBe(other?.jkt)
  expect(one?.headerText).toBe(other?.headerText)
  expect(one?.jti).not.toBe(other?.jti)
})

test('a proof without a token is one for a login', () => {
  expect(() => check(new ProvingKey().proof({ ...subject, nonce: nonces.current }))).not.toThrow()
})

test('a proof is for its token, its nonce and its place alone', () => {
  const key = new ProvingKey()
  const good = { ...subject, nonce: nonces.current, token: 'T' }
  expect(() => check(key.proof(good), 'U')).toThrow('ath does not match')
  expect(() => check(key.proof({ ...good, nonce: 'none' }), 'T')).toThrow('use_dpop_nonce')
  expect(() => check(key.proof({ ...good, url: origin }), 'T')).toThrow('htu mismatch')
})

test('keys are each another', () => {
  const [one, other] = [new ProvingKey(), new ProvingKey()].map((key) =>
    check(key.proof({ ...subject, nonce: nonces.current })),
  )
  expect(one?.jkt).not.toBe(other?.jkt)
})
