// Puts the licences of agent-loop and of the crates that it contains into the package: npm packs no links to other folders.

import { copyFileSync } from 'node:fs'

for (const name of ['LICENSE-MIT', 'LICENSE-APACHE', 'THIRD-PARTY-NOTICES.txt']) {
  copyFileSync(new URL(`../../${name}`, import.meta.url), new URL(name, import.meta.url))
}
