import type { IdentityFixture } from '#test/access/identity-fixture'

export async function listedRows(fixture: IdentityFixture, index: string, tenant = 'default'): Promise<string[]> {
  const pages = fixture.assembly.context.listing.entries(index, tenant)
  const rows = await fixture.wait(pages.next(100_000))
  await pages.close()
  return [...rows]
}
