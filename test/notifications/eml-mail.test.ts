import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { emlMail } from '#notifications/eml-mail'
import type { Mail } from '#notifications/mail'
import { readMail } from '#test/notifications/read-mail'
import { sampleMail } from '#test/notifications/sample-mail'
import { onSmallDisk } from '#test/store/small-disk'

let place: string
let folder: string
let failures: unknown[]

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'eml-'))
  folder = join(place, 'a', 'outbox')
  failures = []
})

afterEach(() => rm(place, { recursive: true }))

async function opened(filesMax?: number): Promise<Mail> {
  const mail = emlMail({
    folder,
    from: 'devices@devices.example',
    ...(filesMax !== undefined && { filesMax }),
    failed: (error) => failures.push(error),
  })
  await mail.open()
  return mail
}

const files = async () => (await readdir(folder)).sort()
const nameOf = (n: number) => `0${1_700_000_000_000 + n}-${'a'.repeat(16)}.eml`

describe('a mail in a folder', () => {
  test('is a file readable by its owner only, named by time and Message-ID', async () => {
    const mail = await opened()
    await mail.send(sampleMail(7, { id: `0123456789abcdef${'0'.repeat(16)}@devices.example` }))
    expect(await files()).toEqual(['01700000000007-0123456789abcdef.eml'])
    const { mode } = await stat(join(folder, '01700000000007-0123456789abcdef.eml'))
    expect(mode & 0o077).toBe(0)
  })

  test('is one file, replaced if it is sent again', async () => {
    const mail = await opened()
    await mail.send(sampleMail(1))
    await mail.send(sampleMail(1, { subject: 'again' }))
    expect(await files()).toEqual([nameOf(1)])
    expect(readMail(await readFile(join(folder, nameOf(1)), 'latin1')).subject).toBe('again')
  })

  test('that is incomplete is deleted at the next start; foreign files stay', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${nameOf(1)}.tmp`), 'half')
    await writeFile(join(folder, 'notes.txt'), 'mine')
    await opened(1)
    expect(await files()).toEqual(['notes.txt'])
  })

  test('is never visible while incomplete', async () => {
    const mail = await opened()
    const text = 'x'.repeat(200_000)
    const sent = mail.send(sampleMail(1, { text }))
    let isSent = false
    void sent.then(() => {
      isSent = true
    })
    while (!isSent) {
      for (const name of (await files()).filter((each) => each.endsWith('.eml'))) {
        expect(readMail(await readFile(join(folder, name), 'latin1')).text).toBe(text)
      }
    }
    expect(await files()).toEqual([nameOf(1)])
  })
})

describe('above the limit the oldest files are deleted', () => {
  test('by the time of the mail, not of the file', async () => {
    const mail = await opened(3)
    for (const n of [5, 3, 4, 1, 6]) await mail.send(sampleMail(n))
    expect(await files()).toEqual([4, 5, 6].map(nameOf))
  })

  test('including those of earlier runs', async () => {
    await mkdir(folder, { recursive: true })
    for (let n = 0; n < 5; n++) await writeFile(join(folder, nameOf(n)), 'old')
    const mail = await opened(3)
    expect(await files()).toEqual([2, 3, 4].map(nameOf))
    await mail.send(sampleMail(9))
    expect(await files()).toEqual([3, 4, 9].map(nameOf))
  })

  test('a mail that is sent twice counts once', async () => {
    const mail = await opened(2)
    for (const n of [1, 2, 2, 2, 1]) await mail.send(sampleMail(n))
    expect(await files()).toEqual([1, 2].map(nameOf))
  })

  test('a file that cannot be deleted is reported, and mails are still accepted', async () => {
    const mail = await opened(1)
    await mkdir(join(folder, nameOf(1), 'x'), { recursive: true })
    await mail.close()
    const again = await opened(1)
    await again.send(sampleMail(2))
    expect(await files()).toEqual([1, 2].map(nameOf))
    expect(failures).toHaveLength(1)
  })
})

describe('a failing disk refuses mails temporarily', () => {
  test('a missing folder, until it is back', async () => {
    const mail = await opened()
    await rm(folder, { recursive: true })
    await expect(mail.send(sampleMail(1))).rejects.toMatchObject({ kind: 'transport', code: 'ENOENT' })
    await mkdir(folder)
    await mail.send(sampleMail(1))
    expect(await files()).toEqual([nameOf(1)])
  })

  test('a full disk, without leaving incomplete files', (context) =>
    onSmallDisk('64k', context, async (disk) => {
      folder = disk
      const mail = await opened()
      await mail.send(sampleMail(1))
      const large = sampleMail(2, { text: 'x'.repeat(100_000) })
      await expect(mail.send(large)).rejects.toMatchObject({ kind: 'transport', code: 'ENOSPC' })
      expect(await files()).toEqual([nameOf(1)])
      await mail.send(sampleMail(3))
      expect(await files()).toEqual([nameOf(1), nameOf(3)])
    }))

  test('a folder without write permission', async (context) => {
    if (process.getuid?.() === 0) context.skip('root writes everywhere')
    const mail = await opened()
    await chmod(folder, 0o500)
    await expect(mail.send(sampleMail(1))).rejects.toMatchObject({ kind: 'transport', code: 'EACCES' })
    await chmod(folder, 0o700)
  })
})
