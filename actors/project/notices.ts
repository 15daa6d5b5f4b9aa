/** Notices about a project. Called as effects: after the commit, with the committed state. */
export interface ProjectNotices {
  /** SHA-256 of the image that the release named before and names now; null: none. `release` is its `releaseName`. */
  releasesChanged(tenant: string, project: string, before: string | null, after: string | null, release: string): void
  /** The devices of the project have to be checked. */
  scanRequested(tenant: string, project: string): void
  rolloutChanged(tenant: string, project: string): void
}
