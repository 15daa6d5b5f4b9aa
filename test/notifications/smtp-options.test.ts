import { expect, test } from 'vitest'
import { smtpOptionsOf } from '#notifications/smtp-options'

const checked = { rejectUnauthorized: true }
const unchecked = { rejectUnauthorized: false }

test.each([
  ['smtp://mail.example', { host: 'mail.example', port: 587, secure: false, requireTLS: false, tls: checked }],
  ['smtp://mail.example:25/', { host: 'mail.example', port: 25, secure: false, requireTLS: false, tls: checked }],
  ['smtps://mail.example', { host: 'mail.example', port: 465, secure: true, requireTLS: false, tls: checked }],
  ['smtp://localhost:1025', { host: 'localhost', port: 1025, secure: false, requireTLS: false, tls: unchecked }],
  ['smtp://127.1.2.3', { host: '127.1.2.3', port: 587, secure: false, requireTLS: false, tls: unchecked }],
  ['smtp://[::1]', { host: '::1', port: 587, secure: false, requireTLS: false, tls: unchecked }],
  ['smtps://localhost', { host: 'localhost', port: 465, secure: true, requireTLS: false, tls: checked }],
  [
    'smtp://a:b@mail.example',
    { host: 'mail.example', port: 587, secure: false, requireTLS: true, auth: { user: 'a', pass: 'b' }, tls: checked },
  ],
  [
    'smtps://a%40b:%2F%3A@mail.example',
    {
      host: 'mail.example',
      port: 465,
      secure: true,
      requireTLS: false,
      auth: { user: 'a@b', pass: '/:' },
      tls: checked,
    },
  ],
  [
    'smtp://a:b@localhost',
    { host: 'localhost', port: 587, secure: false, requireTLS: false, auth: { user: 'a', pass: 'b' }, tls: unchecked },
  ],
  [
    'smtp://a:b@localhost.example',
    {
      host: 'localhost.example',
      port: 587,
      secure: false,
      requireTLS: true,
      auth: { user: 'a', pass: 'b' },
      tls: checked,
    },
  ],
])('%s', (url, options) => {
  expect(smtpOptionsOf(url)).toEqual(options)
})
