"""What people take away: pictures, tables, posts, reports and run bundles."""
