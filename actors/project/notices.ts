/** What a project says when it is stored. Called as effects: after the commit, with what that commit holds. */
export interface ProjectNotices {
  /** SHA-256 of the image that a release named, and names now; null: none. `release` is its `releaseName`. */
  releasesChanged(tenant: string, project: string, before: string | null, after: string | null, release: string): void
  /** Its devices are to be gone through. */
  walkWanted(tenant: string, project: string): void
  rolloutChanged(tenant: string, project: string): void
}
