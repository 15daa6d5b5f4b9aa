import { activeTenants, isTenantActive } from '#actors/directory/queries'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Listing, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'

/** What a job over stored names needs. */
export interface JobParts {
  readonly system: System<Entry>
  /** The stored names and index entries. */
  readonly listing: Listing
  /** Called with an error; the work is retried. */
  readonly failed: (error: unknown) => void
}

const listedAtATime = 256
const retryMs = 1_000

/** The stored entries of an index, of all tenants that are not being deleted. */
export async function* storedEntries(
  { system, listing }: Pick<JobParts, 'system' | 'listing'>,
  index: string,
): AsyncGenerator<{ readonly tenant: string; readonly entry: string }> {
  for (const tenant of activeTenants(system)) {
    for await (const page of pagesIn(listing.entries(index, tenant), listedAtATime)) {
      if (!isTenantActive(system, tenant)) break
      for (const entry of page) if (isTenantActive(system, tenant)) yield { tenant, entry }
    }
  }
}

/**
 * Runs work that reads the store, and runs it again a second after an error. A Problem ends it: a write failed, and the
 * work begins again when the store has been read.
 */
export async function runWithRetries(
  { system, failed }: Pick<JobParts, 'system' | 'failed'>,
  isStopped: () => boolean,
  work: () => Promise<void>,
): Promise<void> {
  if (isStopped()) return
  try {
    await work()
  } catch (error) {
    if (isStopped() || error instanceof Problem) return
    failed(error)
    system.world.after(retryMs, () => void runWithRetries({ system, failed }, isStopped, work))
  }
}
